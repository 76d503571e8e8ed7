/** The cookie that continues a session (contract 8.5). */
import { type HubCookie, type HubCookieOptions, hubCookie } from './hub-cookie.js';

export const REFRESH_COOKIE = 'refreshToken';

export type RefreshCookie = HubCookie;

export function refreshCookie(options: Pick<HubCookieOptions, 'lifetimeMs' | 'publicUrl'>): RefreshCookie {
  return hubCookie({ name: REFRESH_COOKIE, path: '/api/2.0/auth', ...options });
}
