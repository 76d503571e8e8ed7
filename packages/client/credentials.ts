/** Credentials of requests: a token, or a session that is opened with a password and renewed silently. */
import { errorOf } from './errors.js';

/** Sends a request to the hub, without credentials. */
export type Send = (path: string, init: RequestInit) => Promise<Response>;

/** Source of the access token of requests. */
export interface Credentials {
  /** The token to send; undefined for a hub without security. Rejects when no token can be had. */
  token(send: Send): Promise<string | undefined>;
  /** Called when the hub rejected this token with 401; returns whether another try makes sense. */
  renew(rejected: string | undefined, send: Send): Promise<boolean>;
}

/** A personal access token, or a token of the company's sign-on, which a function may fetch anew. */
export class TokenCredentials implements Credentials {
  readonly #read: () => string | Promise<string>;
  readonly #isFixed: boolean;
  #current: Promise<string> | undefined;

  constructor(token: string | (() => string | Promise<string>)) {
    this.#read = typeof token === 'string' ? () => token : token;
    this.#isFixed = typeof token === 'string';
  }

  async token(): Promise<string> {
    this.#current ??= this.#fetched();
    return this.#current;
  }

  async renew(rejected: string | undefined): Promise<boolean> {
    if (this.#isFixed) return false;
    if (this.#current !== undefined && (await this.#current) === rejected) this.#current = undefined;
    return (await this.token()) !== rejected;
  }

  /** A fetch that fails is not kept: the next request tries anew. */
  async #fetched(): Promise<string> {
    try {
      return await this.#read();
    } catch (error) {
      this.#current = undefined;
      throw error;
    }
  }
}

const LOGIN = '/api/2.0/auth/login';
const REFRESH = '/api/2.0/auth/refresh';
const LOGOUT = '/api/2.0/auth/logout';
const COOKIE = 'refreshToken';

/**
 * Session of a user (contract 8.2 to 8.5). It logs in at the first request and refreshes its access token when the hub
 * rejects it; simultaneous requests share one refresh. In browsers the refresh cookie is the browser's; elsewhere it is
 * kept here.
 */
export class PasswordSession implements Credentials {
  readonly #username: string;
  readonly #password: string;
  #accessToken: string | undefined;
  #cookie: string | undefined;
  #underway: Promise<string> | undefined;

  constructor(username: string, password: string) {
    this.#username = username;
    this.#password = password;
  }

  async token(send: Send): Promise<string> {
    return this.#accessToken ?? this.#once(() => this.#logIn(send));
  }

  async renew(rejected: string | undefined, send: Send): Promise<boolean> {
    // Another request has renewed it meanwhile.
    if (this.#accessToken !== undefined && this.#accessToken !== rejected) return true;
    await this.#once(async () => (await this.#refresh(send)) ?? this.#logIn(send));
    return true;
  }

  /** Ends the session; the next request opens another one. */
  async logOut(send: Send): Promise<void> {
    await this.#withCookie(send, LOGOUT).catch(() => undefined);
    this.#accessToken = undefined;
    this.#cookie = undefined;
  }

  #once(open: () => Promise<string>): Promise<string> {
    this.#underway ??= open()
      .then((accessToken) => {
        this.#accessToken = accessToken;
        return accessToken;
      })
      .finally(() => {
        this.#underway = undefined;
      });
    return this.#underway;
  }

  async #logIn(send: Send): Promise<string> {
    const body = JSON.stringify({ username: this.#username, password: this.#password });
    const headers = { 'content-type': 'application/json' };
    const response = await send(LOGIN, { method: 'POST', headers, body, credentials: 'include' });
    if (!response.ok) throw await errorOf(response);
    return this.#tokenOf(response);
  }

  /** Undefined when the session has ended. */
  async #refresh(send: Send): Promise<string | undefined> {
    const response = await this.#withCookie(send, REFRESH);
    if (response.status === 401) return undefined;
    if (!response.ok) throw await errorOf(response);
    return this.#tokenOf(response);
  }

  #withCookie(send: Send, path: string): Promise<Response> {
    const headers: HeadersInit = this.#cookie === undefined ? {} : { cookie: `${COOKIE}=${this.#cookie}` };
    return send(path, { headers, credentials: 'include' });
  }

  async #tokenOf(response: Response): Promise<string> {
    for (const cookie of response.headers.getSetCookie()) {
      const value = new RegExp(`^${COOKIE}=([^;]*)`).exec(cookie)?.[1];
      if (value !== undefined) this.#cookie = value;
    }
    const { accessToken } = (await response.json()) as { accessToken: string };
    return accessToken;
  }
}
