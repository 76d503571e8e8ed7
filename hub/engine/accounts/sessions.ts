/** Sessions: from a login to a logout, continued by refresh tokens that are valid for one use. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Caller } from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import type {
  AccessTokens,
  InitialToken,
  RefreshState,
  Secrets,
  SessionStore,
} from '../../core/ports/accounts.js';
import type { Authenticator } from './authenticator-chain.js';
import { type CheckedUser, type LoginOrigin, type PasswordCheck, wrongPassword } from './password-check.js';
import { RefreshRate } from './refresh-rate.js';
import { familyOf, isRefreshToken, nextToken, tokenStateOf } from './refresh-tokens.js';

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

/** Result of a login or refresh. */
export interface Admission {
  readonly username: string;
  readonly accessToken: string;
}

export interface RenewableAdmission extends Admission {
  /** Valid for one use and its repetition within seconds. */
  readonly refreshToken: string;
}

export class Sessions implements Authenticator {
  readonly #options: SessionsOptions;
  readonly #rate: RefreshRate;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#rate = new RefreshRate(options.clock);
  }

  /** Opens a session that can be refreshed. Rejects with UNAUTHENTICATED and TOO_MANY_ATTEMPTS. */
  async logIn(username: string, password: string, origin: LoginOrigin): Promise<RenewableAdmission> {
    const { secrets, refreshTokenLifetimeMs } = this.#options;
    const refreshToken = secrets.newSecret();
    const first = {
      familyHash: secrets.hashOf(familyOf(refreshToken)),
      tokenHash: secrets.hashOf(refreshToken),
    };
    const checked = await this.#options.passwords.check(username, password, origin);
    return { ...(await this.#begin(checked, refreshTokenLifetimeMs, first)), refreshToken };
  }

  /** Opens a session that ends with its access token. Rejects as {@link logIn}. */
  async logInOnce(username: string, password: string, origin: LoginOrigin): Promise<Admission> {
    const checked = await this.#options.passwords.check(username, password, origin);
    return this.#begin(checked, this.#options.accessTokenLifetimeMs, null);
  }

  /** Exchanges the refresh token for a new pair. For some seconds the token spent last gives the same refresh token
   *  again; any other spent one ends its session. Rejects with UNAUTHENTICATED and TOO_MANY_REFRESHES. `ofHolder` is
   *  called with the session's user, also when the token is refused. */
  async refresh(
    refreshToken: string | undefined,
    ofHolder: (username: string) => void,
  ): Promise<RenewableAdmission> {
    const { store, tokens, secrets, clock, refreshTokenLifetimeMs } = this.#options;
    const token = presented(refreshToken);
    const hash = secrets.hashOf(token);
    for (;;) {
      const state = await this.#stateOf(token, ofHolder);
      const { id, username } = state.session;
      const nowMs = clock.nowMs();
      const standing = tokenStateOf(hash, state, nowMs);
      if (standing === 'OLD') {
        await store.end(id);
        throw usedBefore();
      }
      this.#rate.count(id, standing);
      const isRepeated = standing === 'JUST_SPENT' && state.spent !== null;
      const salt = isRepeated ? state.spent.salt : secrets.newSecret();
      const next = nextToken(token, salt, secrets);
      if (!isRepeated) {
        const spent = { hash, atMs: nowMs, salt };
        const nextHash = secrets.hashOf(next);
        const familyHash = secrets.hashOf(familyOf(token));
        const expiresAtMs = nowMs + refreshTokenLifetimeMs;
        // A concurrent request may have spent the token: then this one repeats that refresh.
        if (!(await store.rotate(id, { spent, familyHash, nextHash, expiresAtMs }))) continue;
      }
      return { username, accessToken: await tokens.issue({ sessionId: id, username }), refreshToken: next };
    }
  }

  /** Ends the session of the refresh token with all its access tokens. Rejects with UNAUTHENTICATED, also for a spent
   *  token, whose session ends nevertheless. */
  async logOut(refreshToken: string | undefined, ofHolder: (username: string) => void): Promise<void> {
    const { store, secrets } = this.#options;
    const token = presented(refreshToken);
    const state = await this.#stateOf(token, ofHolder);
    await store.end(state.session.id);
    if (secrets.hashOf(token) !== state.currentHash) throw usedBefore();
  }

  recognizes(token: string): boolean {
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
    { username, passwordHash }: CheckedUser,
    lifetimeMs: number,
    first: InitialToken | null,
  ): Promise<Admission> {
    const { store, tokens, clock, newId } = this.#options;
    const id = newId();
    const startedAtMs = clock.nowMs();
    const session = { id, username, startedAtMs, expiresAtMs: startedAtMs + lifetimeMs };
    // The check takes time, in which the user may be disabled or get another password.
    if (!(await store.open(session, first, passwordHash))) throw wrongPassword();
    return { username, accessToken: await tokens.issue({ sessionId: id, username }) };
  }

  /** Refresh state of the token's session. Rejects with UNAUTHENTICATED when there is none. */
  async #stateOf(token: string, ofHolder: (username: string) => void): Promise<RefreshState> {
    const { store, secrets, clock } = this.#options;
    const nowMs = clock.nowMs();
    const state =
      (await store.ofFamily(secrets.hashOf(familyOf(token)), nowMs)) ??
      // A session older than token families, until its next refresh.
      (await store.ofFamily(secrets.hashOf(token), nowMs));
    if (!state) throw notActive();
    ofHolder(state.session.username);
    return state;
  }
}

/** Throws UNAUTHENTICATED for anything but a refresh token. */
function presented(refreshToken: string | undefined): string {
  if (refreshToken === undefined || refreshToken === '') {
    throw new HubError(
      'UNAUTHENTICATED',
      'the cookie refreshToken is required: log in at /api/2.0/auth/login',
    );
  }
  if (!isRefreshToken(refreshToken)) throw notActive();
  return refreshToken;
}

function usedBefore(): HubError {
  return new HubError(
    'UNAUTHENTICATED',
    'this refresh token has been used before, so somebody else may hold it: the session has been ended, log in again',
  );
}

function notActive(): HubError {
  return new HubError(
    'UNAUTHENTICATED',
    'the cookie refreshToken names no active session: log in at /api/2.0/auth/login',
  );
}
