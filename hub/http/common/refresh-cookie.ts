/** The cookie that carries a session on (contract 8.5). No script sees it, no other site has it sent, and it goes to the
 *  endpoints that need it only. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Client } from '../middleware/client.js';

export const REFRESH_COOKIE = 'refreshToken';

/** A longer life than browsers grant. */
const MAX_AGE_LIMIT_S = 400 * 86_400;

export interface RefreshCookieOptions {
  readonly lifetimeMs: number;
  /** How clients reach the hub, if that is said: https makes every cookie secure. */
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
