/** The session of the user, shared by all tabs of this browser: one of them renews it for all. */
import { AuthenticationError, type Credentials, UnreachableError } from '@workbench-hub/client';
import { Store } from '../data/store.js';

const LOGIN = '/api/2.0/auth/login';
const REFRESH = '/api/2.0/auth/refresh';
const LOGOUT = '/api/2.0/auth/logout';
const CALLER = '/api/x/caller';

const LOCK = 'workbench-session';
const RETRY_MS = 1000;

export type Role = 'VIEWER' | 'USER' | 'ADMIN';
const ROLES: readonly Role[] = ['VIEWER', 'USER', 'ADMIN'];

export interface Person {
  readonly username: string;
  readonly roles: readonly Role[];
  /** False for a hub without security, where nobody logs in. */
  readonly isLoggedIn: boolean;
}

/** `ended` keeps the person whose session it was, so that the screens stay as they are until the next login. */
export type SessionState =
  | { readonly status: 'starting' }
  | { readonly status: 'open'; readonly person: Person }
  | { readonly status: 'ended'; readonly person: Person | undefined };

type Message = { readonly token: string } | { readonly ended: true };
type Send = (path: string, init: RequestInit) => Promise<Response>;

/** Thrown by requests while nobody is logged in. */
function notLoggedIn(): AuthenticationError {
  return new AuthenticationError('log in first', { status: 401, headers: new Headers() });
}

export class Session implements Credentials {
  readonly state = new Store<SessionState>({ status: 'starting' });
  readonly #send: Send;
  readonly #channel = new BroadcastChannel(LOCK);
  #token: string | undefined;

  constructor(send: Send) {
    this.#send = send;
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      if ('ended' in data) this.#end(true);
      else {
        this.#token = data.token;
        if (this.state.get().status !== 'open') void this.#open();
      }
    });
  }

  /** Finds out who the user is; tries until the hub responds. */
  async start(): Promise<void> {
    for (;;) {
      try {
        if (await this.#open()) return;
        if (await this.#refreshOnce(undefined)) await this.#open();
        else this.#end();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Opens a session. Rejects with the hub's refusal, or UnreachableError. */
  async logIn(username: string, password: string): Promise<void> {
    const response = await this.#send(LOGIN, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    });
    if (!response.ok)
      throw new LogInRefused(response.status, Number(response.headers.get('retry-after') ?? 0));
    await this.#take(response);
    await this.#open();
  }

  /** Ends the session in all tabs. */
  async logOut(): Promise<void> {
    await this.#send(LOGOUT, {}).catch(() => undefined);
    this.#channel.postMessage({ ended: true } satisfies Message);
    this.#end(true);
  }

  /** Hears no more of other tabs. */
  close(): void {
    this.#channel.close();
  }

  async token(): Promise<string | undefined> {
    const state = this.state.get();
    if (state.status === 'ended') throw notLoggedIn();
    return this.#token;
  }

  /** Renews the token that the hub rejected; another tab may have done so meanwhile. */
  async renew(rejected: string | undefined): Promise<boolean> {
    if (await this.#refreshOnce(rejected)) return true;
    this.#end();
    throw notLoggedIn();
  }

  /** Whether there is a token other than the rejected one. One tab at a time asks for it. */
  #refreshOnce(rejected: string | undefined): Promise<boolean> {
    return alone(LOCK, async () => {
      // A token that another tab has just got has arrived by now.
      await new Promise((resolve) => setTimeout(resolve));
      if (this.#token !== rejected && this.#token !== undefined) return true;
      for (;;) {
        const response = await this.#send(REFRESH, {});
        if (response.ok) {
          await this.#take(response);
          return true;
        }
        if (response.status === 401) return false;
        // Refused for a reason that passes: too many refreshes, or a busy hub.
        const seconds = Number(response.headers.get('retry-after') ?? 1);
        await new Promise((resolve) => setTimeout(resolve, Math.max(seconds, 1) * 1000));
      }
    });
  }

  async #take(response: Response): Promise<void> {
    const { accessToken } = (await response.json()) as { accessToken: string };
    this.#token = accessToken;
    this.#channel.postMessage({ token: accessToken } satisfies Message);
  }

  /** Asks the hub who the caller is; false when the token, or its absence, is refused. */
  async #open(): Promise<boolean> {
    const headers: HeadersInit = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
    const response = await this.#send(CALLER, { headers });
    if (response.status === 401) return false;
    if (!response.ok) throw new UnreachableError(`the hub responded with ${response.status}`);
    const { username, roles, by } = (await response.json()) as {
      username: string;
      roles: Role[];
      by: string;
    };
    this.state.set({ status: 'open', person: { username, roles, isLoggedIn: by !== 'OPEN_HUB' } });
    return true;
  }

  #end(isForgotten = false): void {
    const before = this.state.get();
    this.#token = undefined;
    if (before.status === 'ended') return;
    const person = before.status === 'open' && !isForgotten ? before.person : undefined;
    this.state.set({ status: 'ended', person });
  }
}

/** The hub did not accept a login. */
export class LogInRefused extends Error {
  override readonly name = 'LogInRefused';
  readonly status: number;
  /** Seconds to wait before the next try; 0 when none are asked for. */
  readonly retryAfterS: number;

  constructor(status: number, retryAfterS: number) {
    super(`the login was refused (${status})`);
    this.status = status;
    this.retryAfterS = retryAfterS;
  }
}

/** Whether the person holds the role or a higher one. */
export function holdsRole(person: Person | undefined, role: Role): boolean {
  return person?.roles.some((held) => ROLES.indexOf(held) >= ROLES.indexOf(role)) ?? false;
}

/** Calls the function while no other tab is in it. On a page without TLS browsers have no locks: then each tab acts alone. */
function alone<T>(name: string, act: () => Promise<T>): Promise<T> {
  return navigator.locks ? navigator.locks.request(name, act) : act();
}
