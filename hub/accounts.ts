/** The part of the composition root that is about users: the accounts database, the keys, and who is let in. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from './config.js';
import { ANYBODY } from './core/access.js';
import type { Passwords } from './core/ports/accounts.js';
import type { LoginMetrics } from './core/ports/metrics.js';
import { AuthenticatorChain } from './engine/accounts/authenticator-chain.js';
import { passwordCheck, skipPassword, watched } from './engine/accounts/password-check.js';
import { PersonalTokens } from './engine/accounts/personal-tokens.js';
import { Sessions } from './engine/accounts/sessions.js';
import { Users } from './engine/accounts/users.js';
import { type Guard, guardWith, openGuard } from './http/middleware/guard.js';
import { oidcAuthenticators } from './oidc-sign-on.js';
import { accessTokens } from './security/access-tokens.js';
import { secrets } from './security/secrets.js';
import { ephemeralKey, openSigningKeys } from './security/signing-keys.js';
import { openAccountsDatabase } from './store/sqlite/accounts/accounts-database.js';
import { sqlitePersonalTokens } from './store/sqlite/accounts/personal-tokens.js';
import { sqliteSessionStore } from './store/sqlite/accounts/session-store.js';
import { sqliteUserStore } from './store/sqlite/accounts/user-store.js';
import type { SqliteDatabase } from './store/sqlite/database.js';

export interface Accounts {
  readonly sessions: Sessions;
  readonly personalTokens: PersonalTokens;
  readonly guard: Guard;
  /** Removes what has expired. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export interface AccountsOptions {
  readonly config: HubConfig;
  readonly kept: SqliteDatabase;
  readonly passwords: Passwords;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly metrics: LoginMetrics;
}

/** Over the accounts database, which stays open when this is closed. While security is off everybody may do everything,
 *  and the sessions are gone with the process. */
export async function openAccounts(options: AccountsOptions): Promise<Accounts> {
  const { config, kept, passwords, runtime, log } = options;
  const { enabled, accessTokenLifetime: lifetimeMs, refreshTokenLifetime } = config.security;
  const { dataDir } = config;
  const { clock } = runtime;
  const keys = enabled ? await openSigningKeys({ dataDir, lifetimeMs, clock, log }) : ephemeralKey();
  const db = enabled ? kept : openAccountsDatabase(':memory:');
  const close = () => {
    if (db !== kept) db.close();
  };
  try {
    const users = sqliteUserStore(db, log);
    const sessionStore = sqliteSessionStore(db, log);
    if (enabled) await takeUsers(new Users({ store: users, passwords, clock }), config, log);
    else await users.add({ ...NOBODY, createdAtMs: clock.nowMs() });
    const sessions = new Sessions({
      store: sessionStore,
      passwords: enabled
        ? watched(await passwordCheck({ users, passwords, clock }), options.metrics)
        : skipPassword(NOBODY),
      tokens: accessTokens({ keys, lifetimeMs, clock, newId: () => runtime.newId() }),
      secrets,
      clock,
      newId: () => runtime.newId(),
      accessTokenLifetimeMs: lifetimeMs,
      refreshTokenLifetimeMs: refreshTokenLifetime,
    });
    const personalTokens = new PersonalTokens({ store: sqlitePersonalTokens(db, log), secrets, runtime });
    const guard = async () =>
      guardWith(
        new AuthenticatorChain([
          sessions,
          personalTokens,
          ...(await oidcAuthenticators(config, users, runtime, log)),
        ]),
      );
    return {
      sessions,
      personalTokens,
      guard: enabled ? await guard() : openGuard,
      sweep: async () => {
        await sessionStore.sweep(clock.nowMs());
        await personalTokens.sweep();
      },
      close: async () => {
        // What could not be written has been logged, and is no reason not to stop.
        await personalTokens.noteUses().catch(() => undefined);
        close();
      },
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Has the sessions of a hub that is open to everybody. */
const NOBODY = {
  username: ANYBODY.username,
  passwordHash: '',
  roles: [],
  disabled: false,
  source: 'COMMAND',
} as const;

async function takeUsers(users: Users, { security }: HubConfig, log: Logger): Promise<void> {
  const { takenOver, ...done } = await users.synchronise(security.users);
  for (const username of takenOver) {
    log.warn(
      { username },
      'this user was made by a command and is in the configuration now, which counts from here on',
    );
  }
  if (Object.values(done).some(({ length }) => length > 0))
    log.info(done, 'took the users of the configuration');
  if (security.oidc !== null || (await users.list()).length > 0) return;
  log.warn(
    'security is on and there is no user yet, so nobody can log in: workbench-hub user add NAME --role ADMIN',
  );
}
