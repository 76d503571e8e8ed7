/** The session of the user, shared by all tabs of this browser: one of them renews it for all. */
import { AuthenticationError, type Credentials, UnreachableError } from '@workbench-hub/client';
import { Store } from '../base/store.js';
import { forgetLoginMethod, type LoginMethod, readLoginMethod, writeLoginMethod } from './login-method.js';

const LOGIN = '/api/2.0/auth/login';
const CALLER = '/api/x/caller';
const SIGN_ON = '/api/x/sign-on';

/** Requests that continue and end a session, by its login method. */
const REQUESTS = {
  password: { method: 'GET', refresh: '/api/2.0/auth/refresh', end: '/api/2.0/auth/logout' },
  'sign-on': { method: 'POST', refresh: `${SIGN_ON}/refresh`, end: `${SIGN_ON}/end` },
} as const;

/** Responses to a refresh by which the session has ended. */
const ENDED: readonly number[] = [401, 403, 404];

const UNAVAILABLE = 503;

const LOCK = 'workbench-session';
const RETRY_MS = 1000;

/** How the hub knows the user: not at all while security is off, by password, or by the company's sign-on. */
type Means = 'OPEN_HUB' | 'SESSION' | 'SIGN_ON';

export type Role = 'VIEWER' | 'USER' | 'ADMIN';
const ROLES: readonly Role[] = ['VIEWER', 'USER', 'ADMIN'];

export interface Person {
  readonly username: string;
  readonly roles: readonly Role[];
  /** False for a hub without security, where nobody logs in. */
  readonly isLoggedIn: boolean;
  readonly by: Means;
}

/** The caller of a hub without security (contract 12.23). */
const ANYBODY: Person = { username: 'anonymous', roles: ['ADMIN'], isLoggedIn: false, by: 'OPEN_HUB' };

/** `ended` keeps the person whose session it was, so that the screens stay as they are until the next login. */
export type SessionState =
  | { readonly status: 'starting' }
  | { readonly status: 'open'; readonly person: Person }
  | {
      readonly status: 'ended';
      readonly person: Person | undefined;
      /** Why a sign-on did not open it. */
      readonly fault?: unknown;
    };

/** Message to the other tabs: a token with its user, or the end of the session. */
type Message = { readonly token: string; readonly username: string } | { readonly ended: true };
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
      else this.#receive(data.token, data.username);
    });
  }

  /** Finds out who the user is; tries until the hub responds. */
  async start(): Promise<void> {
    for (;;) {
      try {
        if ((await this.#continue()) && (this.#username ?? (await this.#open(this.#token))) !== undefined)
          return;
        if (await this.#isTokenRequired()) this.#end();
        else this.state.set({ status: 'open', person: ANYBODY });
        return;
      } catch (error) {
        // While the company's sign-on is away, a password of the hub may do.
        if (error instanceof LogInRefused && readLoginMethod() === 'sign-on') return this.#end(false, error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Opens a session. Rejects with {@link LogInRefused}, or UnreachableError. */
  logIn(username: string, password: string): Promise<void> {
    return this.#logIn('password', LOGIN, { username, password });
  }

  /** Address of the provider of the company's sign-on; undefined where browsers do not log in by it. */
  async signOnIssuer(): Promise<string | undefined> {
    const response = await this.#send(SIGN_ON, {});
    const { browserLogin } = (await response.json()) as { browserLogin?: { issuer: string } };
    return browserLogin?.issuer;
  }

  /** Begins a log-in by the sign-on; resolves with the address to go to. Rejects as {@link logIn}. */
  async beginSignOn(): Promise<string> {
    const response = await this.#send(`${SIGN_ON}/begin`, { method: 'POST' });
    if (!response.ok) throw await refusalIn(response);
    return ((await response.json()) as { location: string }).location;
  }

  /** Opens a session with the query that the provider sent. Rejects as {@link logIn}. */
  finishSignOn(query: string): Promise<void> {
    return this.#logIn('sign-on', `${SIGN_ON}/finish`, { query });
  }

  /** Has the login say why a sign-on failed. */
  failSignOn(fault: unknown): void {
    this.#end(false, fault);
  }

  /** Ends the session in all tabs. */
  async logOut(): Promise<void> {
    const { method, end } = REQUESTS[readLoginMethod() ?? 'password'];
    await this.#send(end, { method }).catch(() => undefined);
    forgetLoginMethod();
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
    const username = this.#username;
    const isRenewed = await this.#refreshOnce(rejected);
    // The request of one user is not sent again as another one's.
    if (isRenewed && (username === undefined || username === this.#username)) return true;
    if (!isRenewed) this.#end();
    throw notLoggedIn();
  }

  async #logIn(
    loginMethod: LoginMethod,
    path: string,
    body: Readonly<Record<string, string>>,
  ): Promise<void> {
    const response = await this.#send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw await refusalIn(response);
    writeLoginMethod(loginMethod);
    await this.#take(response);
  }

  /**
   * Whether there is a token other than the rejected one. One tab at a time asks for it. A refusal that passes is waited for, or
   * else rejects.
   */
  #refreshOnce(rejected: string | undefined, isWaiting = true): Promise<boolean> {
    return alone(LOCK, async () => {
      // A token that another tab has just got has arrived by now.
      await new Promise((resolve) => setTimeout(resolve));
      const isRenewed = this.#token !== rejected && this.#token !== undefined;
      return isRenewed || this.#refresh(rejected, isWaiting);
    });
  }

  async #refresh(rejected: string | undefined, isWaiting: boolean): Promise<boolean> {
    for (;;) {
      const { method, refresh } = REQUESTS[readLoginMethod() ?? 'password'];
      const response = await this.#send(refresh, { method });
      if (response.ok) return this.#take(response);
      if (ENDED.includes(response.status)) {
        // Unless somebody has logged in meanwhile.
        if (this.#token === rejected) forgetLoginMethod();
        return false;
      }
      if (!isWaiting && response.status === UNAVAILABLE) throw await refusalIn(response);
      // Refused for a reason that passes: too many refreshes, or a busy hub.
      const seconds = Number(response.headers.get('retry-after') ?? 1);
      await new Promise((resolve) => setTimeout(resolve, Math.max(seconds, 1) * 1000));
    }
  }

  /** Continues the session that this browser may have: the hub records each refused request. */
  async #continue(): Promise<boolean> {
    return readLoginMethod() !== undefined && (await this.#refreshOnce(undefined, false));
  }

  async #isTokenRequired(): Promise<boolean> {
    const response = await this.#send(SIGN_ON, {});
    if (!response.ok) throw new UnreachableError(`the hub responded with ${response.status}`);
    return ((await response.json()) as { tokenRequired: boolean }).tokenRequired;
  }

  /** Goes on with the token of a response in all tabs; false when the hub refuses it. */
  async #take(response: Response): Promise<boolean> {
    const { accessToken: token } = (await response.json()) as { accessToken: string };
    const username = await this.#open(token);
    if (username === undefined) return false;
    this.#channel.postMessage({ token, username } satisfies Message);
    return true;
  }

  /** Goes on with a token that another tab has got. The session of another user ends before. */
  #receive(token: string, username: string): void {
    if (this.#username !== undefined && this.#username !== username) this.#end();
    this.#token = token;
    // Also for the same user, whose roles may have changed; without an answer, they stay as they were.
    const goOn = (person: Person | undefined) => {
      // Unless another token has come, or the session has ended meanwhile.
      if (person && this.#token === token) this.#goOnAs(person);
    };
    this.#personOf(token).then(goOn, () => undefined);
  }

  /** Goes on with a token as the user whose it is; undefined when it is refused. */
  async #open(token: string | undefined): Promise<string | undefined> {
    const person = await this.#personOf(token);
    if (person === undefined) return undefined;
    this.#token = token;
    this.#goOnAs(person);
    return person.username;
  }

  /** Asks the hub whose token it is; undefined when it is refused. */
  async #personOf(token: string | undefined): Promise<Person | undefined> {
    const headers: HeadersInit = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await this.#send(CALLER, { headers });
    if (response.status === 401) return undefined;
    if (!response.ok) throw new UnreachableError(`the hub responded with ${response.status}`);
    const { username, roles, by } = (await response.json()) as {
      username: string;
      roles: Role[];
      by: Means;
    };
    return { username, roles, isLoggedIn: by !== 'OPEN_HUB', by };
  }

  #goOnAs(person: Person): void {
    if (!isSamePerson(this.#person, person)) this.state.set({ status: 'open', person });
  }

  /** The user whose session is open. */
  get #person(): Person | undefined {
    const state = this.state.get();
    return state.status === 'open' ? state.person : undefined;
  }

  get #username(): string | undefined {
    return this.#person?.username;
  }

  #end(isForgotten = false, fault?: unknown): void {
    const before = this.state.get();
    this.#token = undefined;
    if (before.status === 'ended') return;
    const person = before.status === 'open' && !isForgotten ? before.person : undefined;
    this.state.set({ status: 'ended', person, ...(fault === undefined ? {} : { fault }) });
  }
}

/** The hub did not accept a login; the message is the hub's. */
export class LogInRefused extends Error {
  override readonly name = 'LogInRefused';
  readonly status: number;
  /** Seconds to wait before the next try; 0 when none are asked for. */
  readonly retryAfterS: number;

  constructor(status: number, retryAfterS: number, message: string) {
    super(message);
    this.status = status;
    this.retryAfterS = retryAfterS;
  }
}

function isSamePerson(one: Person | undefined, other: Person): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

async function refusalIn(response: Response): Promise<LogInRefused> {
  const retryAfterS = Number(response.headers.get('retry-after') ?? 0);
  const body: unknown = await response.json().catch(() => undefined);
  const { message = `HTTP ${response.status}` } = (body ?? {}) as { message?: string };
  return new LogInRefused(response.status, retryAfterS, message);
}

/** Whether the person holds the role or a higher one. */
export function holdsRole(person: Person | undefined, role: Role): boolean {
  return person?.roles.some((held) => ROLES.indexOf(held) >= ROLES.indexOf(role)) ?? false;
}

/** Calls the function while no other tab is in it. On a page without TLS browsers have no locks: then each tab acts alone. */
function alone<T>(name: string, act: () => Promise<T>): Promise<T> {
  return navigator.locks ? navigator.locks.request(name, act) : act();
}
