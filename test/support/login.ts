/** Logging in as a browser does: with the cookie that carries the session on. */
import { expect } from 'vitest';
import type { Answer, Api } from './api.js';
import { passwordOf } from './running-hub.js';

export const AUTH = {
  LOGIN: '/api/2.0/auth/login',
  REFRESH: '/api/2.0/auth/refresh',
  LOGOUT: '/api/2.0/auth/logout',
  USER: '/api/2.0/user',
} as const;

export interface LoggedIn {
  readonly accessToken: string;
  /** As the header sends it: `refreshToken=…`. */
  readonly cookie: string;
}

/** Logs a user of the setup in. */
export async function logIn(api: Api, username: string): Promise<LoggedIn> {
  return loggedInBy(await api.post(AUTH.LOGIN, { username, password: passwordOf(username) }));
}

/** What a log-in or a refresh that succeeded gave. */
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

/** The status with which the hub meets whoever presents this token. */
export async function statusFor(api: Api, accessToken: string): Promise<number> {
  return (await api.as(accessToken).get(AUTH.USER)).status;
}
