/** Personal tokens: long-lived tokens of users for scripts. */
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { type Caller, holdsRole, ROLES, type Role, type TokenRole } from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import type { Secrets } from '../../core/ports/accounts.js';
import type { PersonalTokenRecord, PersonalTokenStore } from '../../core/ports/personal-tokens.js';
import type { Authenticator } from './authenticator-chain.js';

export interface PersonalTokensOptions {
  readonly store: PersonalTokenStore;
  readonly secrets: Secrets;
  readonly runtime: Runtime;
}

export interface TokenRequest {
  readonly name: string;
  readonly expiresInDays: number;
  /** Default: the highest role of the user. */
  readonly role: TokenRole | null;
}

/** Prefix by which secret scanners find tokens. */
const PREFIX = 'wbh_';

const MAX_TOKENS_OF_USER = 100;
const DAY_MS = 86_400_000;
/** Time after which uses are stored, also by a hub that does not sweep: other hubs show them from then on. */
const NOTE_USES_AFTER_MS = 30_000;

export class PersonalTokens implements Authenticator {
  readonly #options: PersonalTokensOptions;
  /** Latest uses that are not stored yet. */
  #used = new Map<string, number>();
  #noting: Timer | undefined;

  constructor(options: PersonalTokensOptions) {
    this.#options = options;
  }

  recognizes(token: string): boolean {
    return token.startsWith(PREFIX);
  }

  async identify(token: string, asOfMs = this.#nowMs()): Promise<Caller> {
    const { store, secrets } = this.#options;
    const holder = await store.holder(secrets.hashOf(token), asOfMs);
    if (!holder) {
      throw new HubError(
        'UNAUTHENTICATED',
        'the personal access token is unknown, revoked or expired; log in to make another at /api/x/tokens',
      );
    }
    const { id, username, role } = holder.token;
    this.#used.set(id, this.#nowMs());
    this.#noting ??= this.#options.runtime.timers.after(NOTE_USES_AFTER_MS, () => {
      // A failure has been logged; the next use tries again.
      void this.noteUses().catch(() => undefined);
    });
    const by = 'PERSONAL_TOKEN';
    if (role !== 'METRICS') return { username, roles: lesserOf(role, holder.userRoles), by, tokenId: id };
    const mayRead = holdsRole({ roles: holder.userRoles }, 'ADMIN');
    return { username, roles: [], by, tokenId: id, ...(mayRead ? { scope: 'METRICS' } : {}) };
  }

  /** Creates a token, which cannot be read again. Rejects with FORBIDDEN and TOO_MANY_TOKENS. */
  async create(
    caller: Caller,
    { name, expiresInDays, role }: TokenRequest,
  ): Promise<{ record: PersonalTokenRecord; token: string }> {
    const { store, secrets, runtime } = this.#options;
    refuseUnlessLoggedIn(caller);
    const token = PREFIX + secrets.newSecret();
    const createdAtMs = this.#nowMs();
    const record: PersonalTokenRecord = {
      id: runtime.newId(),
      username: caller.username,
      name,
      role: role === null ? greatestOf(caller) : heldBy(caller, role),
      createdAtMs,
      expiresAtMs: createdAtMs + expiresInDays * DAY_MS,
      lastUsedAtMs: null,
    };
    if (!(await store.add(record, secrets.hashOf(token), MAX_TOKENS_OF_USER))) {
      throw new HubError(
        'TOO_MANY_TOKENS',
        `you have ${MAX_TOKENS_OF_USER} personal access tokens, which is the most: revoke some that are not needed`,
      );
    }
    return { record, token };
  }

  /** Tokens of a user, newest first. Rejects with FORBIDDEN unless the caller is that user or an ADMIN. */
  async list(caller: Caller, username: string): Promise<PersonalTokenRecord[]> {
    if (username !== caller.username && !holdsRole(caller, 'ADMIN')) {
      throw new HubError('FORBIDDEN', "another user's tokens are shown to the role ADMIN only");
    }
    const records = await this.#options.store.ofUser(username, this.#nowMs());
    return records.map((record) => ({
      ...record,
      lastUsedAtMs: latest(this.#used.get(record.id) ?? null, record.lastUsedAtMs),
    }));
  }

  /** Rejects with FORBIDDEN, and with TOKEN_NOT_FOUND also for a token that the caller may not revoke. */
  async revoke(caller: Caller, id: string): Promise<void> {
    if (caller.by === 'PERSONAL_TOKEN' && caller.tokenId !== id) throw takesLogIn('revoke other');
    const { store } = this.#options;
    const token = await store.find(id, this.#nowMs());
    if (!token || (token.username !== caller.username && !holdsRole(caller, 'ADMIN'))) {
      throw new HubError(
        'TOKEN_NOT_FOUND',
        `there is no personal access token with the id ${JSON.stringify(id)} that is yours; /api/x/tokens lists those`,
      );
    }
    await store.remove(id);
  }

  /** Stores the latest uses. */
  async noteUses(): Promise<void> {
    this.#noting?.cancel();
    this.#noting = undefined;
    const used = this.#used;
    this.#used = new Map();
    if (used.size > 0) await this.#options.store.used(used);
  }

  /** Stores the latest uses and removes expired tokens. */
  async sweep(): Promise<void> {
    await this.noteUses();
    await this.#options.store.sweep(this.#nowMs());
  }

  #nowMs(): number {
    return this.#options.runtime.clock.nowMs();
  }
}

function latest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

function refuseUnlessLoggedIn({ by, username }: Caller): void {
  switch (by) {
    case 'SESSION':
      return;
    case 'PERSONAL_TOKEN':
      throw takesLogIn('make');
    case 'SIGN_ON':
      throw new HubError(
        'FORBIDDEN',
        `${username} comes from the sign-on, and so do the roles: a script gets tokens there, by client credentials`,
      );
    case 'OPEN_HUB':
      throw new HubError(
        'FORBIDDEN',
        'security is off: there is no user to make a token for, and none is asked for',
      );
  }
}

function takesLogIn(what: 'make' | 'revoke other'): HubError {
  return new HubError(
    'FORBIDDEN',
    `a personal access token cannot ${what} tokens: log in at /api/2.0/auth/login for that`,
  );
}

/** Every authenticated caller has a role. */
function greatestOf(caller: Caller): Role {
  return ROLES.findLast((role) => holdsRole(caller, role)) ?? 'VIEWER';
}

function heldBy(caller: Caller, role: TokenRole): TokenRole {
  if (holdsRole(caller, role === 'METRICS' ? 'ADMIN' : role)) return role;
  if (role === 'METRICS') {
    throw new HubError('FORBIDDEN', `role: METRICS requires the role ADMIN; yours is ${greatestOf(caller)}`);
  }
  throw new HubError(
    'FORBIDDEN',
    `role: a token may have at most the role ${greatestOf(caller)}, which is yours`,
  );
}

/** Roles that both the token and its user have. */
function lesserOf(role: Role, userRoles: readonly Role[]): Role[] {
  return ROLES.filter((held) => holdsRole({ roles: [role] }, held) && holdsRole({ roles: userRoles }, held));
}
