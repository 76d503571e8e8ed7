/** Sessions: begun by logging in, carried on by refresh tokens that are good for one use, ended by logging out. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Caller } from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import type { AccessTokens, Secrets, SessionRecord, SessionStore, Turn } from '../../core/ports/accounts.js';
import type { TokenKind } from './callers.js';
import { type PasswordCheck, wrongPassword } from './password-check.js';

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly passwords: PasswordCheck;
  readonly tokens: AccessTokens;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly accessTokenLifetimeMs: number;
  readonly refreshTokenLifetimeMs: number;
}

/** What whoever has logged in, or refreshed, gets. */
export interface Admission {
  readonly username: string;
  readonly accessToken: string;
}

export interface RenewableAdmission extends Admission {
  /** Good for one use, within the lifetime of refresh tokens. */
  readonly refreshToken: string;
}

/** Longer ones are no refresh tokens of this hub. */
const MAX_REFRESH_TOKEN_LENGTH = 200;

export class Sessions implements TokenKind {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Begins a session that refresh tokens carry on. Rejects with UNAUTHENTICATED and TOO_MANY_ATTEMPTS. */
  async logIn(username: string, password: string): Promise<RenewableAdmission> {
    const { secrets, refreshTokenLifetimeMs } = this.#options;
    const refreshToken = secrets.newSecret();
    const refreshHash = secrets.hashOf(refreshToken);
    return {
      ...(await this.#begin(username, password, refreshTokenLifetimeMs, refreshHash)),
      refreshToken,
    };
  }

  /** Begins a session that ends with its access token. Rejects as {@link logIn}. */
  logInOnce(username: string, password: string): Promise<Admission> {
    return this.#begin(username, password, this.#options.accessTokenLifetimeMs, null);
  }

  /** Spends the refresh token for a new pair. Rejects with UNAUTHENTICATED; a token that had been spent ends its session.
   *  `ofHolder` hears whose session it is, also when the token is refused. */
  async refresh(
    refreshToken: string | undefined,
    ofHolder: (username: string) => void,
  ): Promise<RenewableAdmission> {
    const { store, tokens, secrets, clock, refreshTokenLifetimeMs } = this.#options;
    const next = secrets.newSecret();
    const nowMs = clock.nowMs();
    const hash = this.#hashOf(refreshToken);
    const turn = await store.turn(hash, secrets.hashOf(next), nowMs, nowMs + refreshTokenLifetimeMs);
    const { id, username } = sessionOf(turn, ofHolder);
    return { username, accessToken: await tokens.issue({ sessionId: id, username }), refreshToken: next };
  }

  /** Ends the session of the refresh token, with all its access tokens. Rejects with UNAUTHENTICATED; so it does for a
   *  token that had been spent, whose session has ended all the same. */
  async logOut(refreshToken: string | undefined, ofHolder: (username: string) => void): Promise<void> {
    const { store, clock } = this.#options;
    sessionOf(await store.end(this.#hashOf(refreshToken), clock.nowMs()), ofHolder);
  }

  claims(token: string): boolean {
    return this.#options.tokens.isOwn(token);
  }

  async identify(token: string, asOfMs = this.#options.clock.nowMs()): Promise<Caller> {
    const { store, tokens } = this.#options;
    const claimed = await tokens.verify(token, asOfMs);
    if (!claimed) {
      throw new HubError(
        'UNAUTHENTICATED',
        'the access token is not valid, or has expired: refresh it at /api/2.0/auth/refresh, or log in again',
      );
    }
    const holder = await store.holder(claimed.sessionId, asOfMs);
    if (!holder || holder.username !== claimed.username) {
      throw new HubError('UNAUTHENTICATED', 'the session of this access token has ended: log in again');
    }
    return { username: holder.username, roles: holder.roles, by: 'SESSION' };
  }

  async #begin(
    name: string,
    password: string,
    lifetimeMs: number,
    refreshHash: string | null,
  ): Promise<Admission> {
    const { store, passwords, tokens, clock, newId } = this.#options;
    const { username, passwordHash } = await passwords.check(name, password);
    const id = newId();
    const startedAtMs = clock.nowMs();
    const session = { id, username, startedAtMs, expiresAtMs: startedAtMs + lifetimeMs };
    // A check takes a while, and may have waited: whoever was disabled or got another password meanwhile stays outside.
    if (!(await store.open(session, refreshHash, passwordHash))) throw wrongPassword();
    return { username, accessToken: await tokens.issue({ sessionId: id, username }) };
  }

  #hashOf(refreshToken: string | undefined): string {
    if (refreshToken === undefined || refreshToken === '') {
      throw new HubError(
        'UNAUTHENTICATED',
        'the cookie refreshToken is required: log in at /api/2.0/auth/login',
      );
    }
    if (refreshToken.length > MAX_REFRESH_TOKEN_LENGTH) throw notInForce();
    return this.#options.secrets.hashOf(refreshToken);
  }
}

function sessionOf(turn: Turn, ofHolder: (username: string) => void): SessionRecord {
  if (turn.kind === 'UNKNOWN') throw notInForce();
  ofHolder(turn.session.username);
  if (turn.kind === 'TURNED') return turn.session;
  throw new HubError(
    'UNAUTHENTICATED',
    'this refresh token has been used before, so somebody else may hold it: the session has been ended, log in again',
  );
}

function notInForce(): HubError {
  return new HubError(
    'UNAUTHENTICATED',
    'the cookie refreshToken names no session that is in force: log in at /api/2.0/auth/login',
  );
}
