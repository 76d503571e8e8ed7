/** The cookie that continues a session (contract 8.5). Scripts cannot read it, other sites cannot cause it to be sent, and it is
 *  sent only to the endpoints that need it. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Client } from '../middleware/client.js';

export const REFRESH_COOKIE = 'refreshToken';

/** Longest lifetime that browsers grant. */
const MAX_AGE_LIMIT_S = 400 * 86_400;

export interface RefreshCookieOptions {
  readonly lifetimeMs: number;
  /** Address by which clients reach the hub, if configured: https makes every cookie secure. */
  readonly publicUrl: string | null;
}

export interface RefreshCookie {
  read(context: Context): string | undefined;
  set(context: Context, client: Client, refreshToken: string): void;
  clear(context: Context, client: Client): void;
}

export function refreshCookie({ lifetimeMs, publicUrl }: RefreshCookieOptions): RefreshCookie {
  const isPublicHttps = publicUrl?.startsWith('https:') ?? false;
  const attributes = ({ isSecure }: Client) =>
    ({
      path: '/api/2.0/auth',
      httpOnly: true,
      sameSite: 'Strict',
      secure: isSecure || isPublicHttps,
    }) as const;
  const maxAge = Math.min(Math.ceil(lifetimeMs / 1000), MAX_AGE_LIMIT_S);
  return {
    read: (context) => getCookie(context, REFRESH_COOKIE),
    set: (context, client, refreshToken) =>
      setCookie(context, REFRESH_COOKIE, refreshToken, { ...attributes(client), maxAge }),
    clear: (context, client) => void deleteCookie(context, REFRESH_COOKIE, attributes(client)),
  };
}
