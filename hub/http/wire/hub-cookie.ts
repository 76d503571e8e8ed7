/** A cookie that scripts cannot read, that other sites cannot cause to be sent, and that is sent only below one path. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Client } from './client.js';

/** Longest lifetime that browsers grant. */
const MAX_AGE_LIMIT_S = 400 * 86_400;

export interface HubCookieOptions {
  readonly name: string;
  /** Path of the hub's own; that of `publicUrl` comes before it. */
  readonly path: string;
  readonly lifetimeMs: number;
  /** Address by which clients reach the hub, if configured: https makes every cookie secure, and clients see paths below its path. */
  readonly publicUrl: string | null;
}

export interface HubCookie {
  read(context: Context): string | undefined;
  set(context: Context, client: Client, value: string): void;
  clear(context: Context, client: Client): void;
}

export function hubCookie({ name, path: ownPath, lifetimeMs, publicUrl }: HubCookieOptions): HubCookie {
  const path = (publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')) + ownPath;
  const isPublicHttps = publicUrl?.startsWith('https:') ?? false;
  const attributes = ({ isSecure }: Client) =>
    ({ path, httpOnly: true, sameSite: 'Strict', secure: isSecure || isPublicHttps }) as const;
  const maxAge = Math.min(Math.ceil(lifetimeMs / 1000), MAX_AGE_LIMIT_S);
  return {
    read: (context) => getCookie(context, name),
    set: (context, client, value) => setCookie(context, name, value, { ...attributes(client), maxAge }),
    clear: (context, client) => void deleteCookie(context, name, attributes(client)),
  };
}
