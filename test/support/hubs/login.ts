/** Logins as a browser makes them: with the cookie that continues the session. */
import { expect } from 'vitest';
import type { Answer, Api } from '../interface/api.js';
import { passwordOf } from './running-hub.js';

export const AUTH = {
  LOGIN: '/api/2.0/auth/login',
  REFRESH: '/api/2.0/auth/refresh',
  LOGOUT: '/api/2.0/auth/logout',
  USER: '/api/2.0/user',
} as const;

export interface LoggedIn {
  readonly accessToken: string;
  /** The cookie as a header sends it: `refreshToken=…`. */
  readonly cookie: string;
}

/** Logs a user of the setup in. */
export async function logIn(api: Api, username: string): Promise<LoggedIn> {
  return loggedInBy(await api.post(AUTH.LOGIN, { username, password: passwordOf(username) }));
}

/** The tokens of a successful login or refresh. */
export function loggedInBy(answer: Answer): LoggedIn {
  expect(answer.status, answer.text).toBe(200);
  const [cookie = ''] = answer.headers.getSetCookie()[0]?.split(';') ?? [];
  return { accessToken: answer.body['accessToken'] as string, cookie };
}

export function refresh(api: Api, cookie: string): Promise<Answer> {
  return api.call('GET', AUTH.REFRESH, { headers: { cookie } });
}

export function logOut(api: Api, cookie: string): Promise<Answer> {
  return api.call('GET', AUTH.LOGOUT, { headers: { cookie } });
}

/** The status of a request with this token. */
export async function statusFor(api: Api, accessToken: string): Promise<number> {
  return (await api.as(accessToken).get(AUTH.USER)).status;
}
