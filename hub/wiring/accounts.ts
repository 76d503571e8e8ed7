/** Composition of users, sessions, tokens and the guard of the HTTP interface. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../config.js';
import { ANYBODY } from '../core/access.js';
import type { Passwords } from '../core/ports/accounts.js';
import type { KeyFiles } from '../core/ports/key-files.js';
import type { LoginRecords } from '../core/ports/login-records.js';
import type { LoginMetrics } from '../core/ports/metrics.js';
import type { AccountStore } from '../core/ports/store.js';
import { AuthenticatorChain } from '../engine/accounts/authenticator-chain.js';
import type { BrowserSignOn } from '../engine/accounts/browser-sign-on.js';
import { passwordCheck, skipPassword, watched } from '../engine/accounts/password-check.js';
import { PersonalTokens } from '../engine/accounts/personal-tokens.js';
import { Sessions } from '../engine/accounts/sessions.js';
import { UserAdministration } from '../engine/accounts/user-administration.js';
import { Users } from '../engine/accounts/users.js';
import { type Guard, guardWith, openGuard } from '../http/requests/guard.js';
import { accessTokens } from '../security/access-tokens.js';
import { secrets } from '../security/secrets.js';
import { ephemeralKey, openSigningKeys } from '../security/signing-keys.js';
import { openVolatileAccountStore } from '../store/open-store.js';
import { openSignOn } from './oidc-sign-on.js';

export interface Accounts {
  readonly sessions: Sessions;
  readonly personalTokens: PersonalTokens;
  readonly userAdministration: UserAdministration;
  readonly guard: Guard;
  /** Log-in of browsers by the company's sign-on; null where there is none. */
  readonly browserSignOn: BrowserSignOn | null;
  /** Makes the users of the configuration those of this list; resolves with a sentence on it. Null while security is off. */
  takeUsers(configured: HubConfig['security']['users']): Promise<string | null>;
  /** Removes expired sessions and tokens. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

export interface AccountsOptions {
  readonly config: HubConfig;
  /** The hub's own; unused while security is off. */
  readonly store: AccountStore;
  readonly passwords: Passwords;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly metrics: LoginMetrics;
  /** Key from which those of cookies are derived. */
  readonly key: Buffer;
  /** Shares the key files with other hubs; null for a hub that has its store alone. */
  readonly keyFiles: KeyFiles | null;
  readonly loginRecords: LoginRecords;
}

/** While security is off, everybody may do everything, and sessions end with the process. */
export async function openAccounts(options: AccountsOptions): Promise<Accounts> {
  if (options.config.security.enabled) return openOver(options.store, options);
  const volatile = openVolatileAccountStore(options.log);
  try {
    const accounts = await openOver(volatile, options);
    return { ...accounts, close: () => accounts.close().finally(() => volatile.close()) };
  } catch (error) {
    await volatile.close();
    throw error;
  }
}

async function openOver(store: AccountStore, options: AccountsOptions): Promise<Accounts> {
  const { config, passwords, runtime, log, key } = options;
  const { enabled } = config.security;
  const { clock } = runtime;
  const { users } = store;
  const configurable = new Users({ store: users, passwords, clock });
  if (enabled) await takeUsers(configurable, config, log);
  else await users.add({ ...NOBODY, createdAtMs: clock.nowMs() });
  const sessions = await openSessions(store, options);
  const personalTokens = new PersonalTokens({ store: store.personalTokens, secrets, runtime });
  const signOn = enabled ? await openSignOn({ config, users, key, runtime, log }) : null;
  const authenticators = [sessions, personalTokens, ...(signOn ? [signOn.authenticator] : [])];
  return {
    sessions,
    personalTokens,
    userAdministration: new UserAdministration({ users, sessions: store.sessions, passwords, clock }),
    guard: enabled ? guardWith(new AuthenticatorChain(authenticators)) : openGuard,
    browserSignOn: signOn?.browser ?? null,
    takeUsers: async (configured) => {
      if (!enabled) return null;
      await takeUsers(configurable, { security: { ...config.security, users: configured } }, log);
      return `${configured.length} users come from the configuration`;
    },
    sweep: async () => {
      await store.sessions.sweep(clock.nowMs());
      await personalTokens.sweep();
      await options.loginRecords.sweep();
    },
    close: async () => {
      // A failure has been logged and must not prevent the stop.
      await personalTokens.noteUses().catch(() => undefined);
    },
  };
}

async function openSessions(
  { users, sessions }: AccountStore,
  {
    config: { dataDir, security },
    passwords,
    runtime,
    log,
    metrics,
    keyFiles,
    loginRecords: records,
  }: AccountsOptions,
): Promise<Sessions> {
  const { enabled, accessTokenLifetime: lifetimeMs, refreshTokenLifetime } = security;
  const { clock } = runtime;
  const newId = () => runtime.newId();
  const share = keyFiles ? () => keyFiles.share() : undefined;
  const keys = enabled ? await openSigningKeys({ dataDir, lifetimeMs, clock, log, share }) : ephemeralKey();
  return new Sessions({
    store: sessions,
    passwords: enabled
      ? watched(await passwordCheck({ users, passwords, records, clock }), metrics)
      : skipPassword(NOBODY),
    tokens: accessTokens({ keys, lifetimeMs, clock, newId }),
    secrets,
    clock,
    newId,
    accessTokenLifetimeMs: lifetimeMs,
    refreshTokenLifetimeMs: refreshTokenLifetime,
  });
}

/** Owner of the sessions of a hub without security. */
const NOBODY = {
  username: ANYBODY.username,
  passwordHash: '',
  roles: [],
  disabled: false,
  source: 'COMMAND',
} as const;

async function takeUsers(
  users: Users,
  { security }: Pick<HubConfig, 'security'>,
  log: Logger,
): Promise<void> {
  const { overridden, ...done } = await users.synchronize(security.users);
  for (const username of overridden) {
    log.warn({ username }, 'this user was created by a command; the configuration now defines it');
  }
  if (Object.values(done).some(({ length }) => length > 0))
    log.info(done, 'took the users of the configuration');
  if (security.oidc !== null || (await users.list()).length > 0) return;
  log.warn(
    'security is on and there is no user yet, so nobody can log in: workbench-hub user add NAME --role ADMIN',
  );
}
