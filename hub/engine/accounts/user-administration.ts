/** Administration of users by an administrator at the interface, by the rules of `workbench-hub user`. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type Caller, holdsRole, type Role } from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import { escapedName } from '../../core/names.js';
import type {
  Passwords,
  SessionStore,
  UserChange,
  UserRecord,
  UserSessions,
  UserStore,
} from '../../core/ports/accounts.js';

export interface UserAdministrationOptions {
  readonly users: UserStore;
  readonly sessions: Pick<SessionStore, 'ofUsers'>;
  readonly passwords: Passwords;
  readonly clock: Clock;
}

/** A user as administrators see it. */
export interface UserView extends Omit<UserRecord, 'passwordHash'> {
  /** Number of sessions that have not ended. */
  readonly sessions: number;
  /** Start of the latest of these sessions; null without one. */
  readonly latestLoginAtMs: number | null;
}

/** A valid username, a valid password and at least one role. */
export interface NewUser {
  readonly username: string;
  readonly password: string;
  readonly roles: readonly Role[];
}

/** All methods reject with FORBIDDEN while security is off, and those that change something also for a personal token. */
export class UserAdministration {
  readonly #options: UserAdministrationOptions;

  constructor(options: UserAdministrationOptions) {
    this.#options = options;
  }

  /** Users of the hub by name, without those of the company's sign-on. */
  async list(caller: Caller): Promise<UserView[]> {
    refuseOnOpenHub(caller);
    const { users, sessions, clock } = this.#options;
    const [all, sessionsOf] = [await users.all(), await sessions.ofUsers(clock.nowMs())];
    return all.map((user) => viewOf(user, sessionsOf.get(user.username)));
  }

  /** Rejects with USER_EXISTS. */
  async add(caller: Caller, { username, password, roles }: NewUser): Promise<UserView> {
    refuseUnlessLoggedIn(caller);
    const { users, passwords, clock } = this.#options;
    if (await users.find(username)) throw nameTaken(username);
    const passwordHash = await passwords.hash(password);
    const createdAtMs = clock.nowMs();
    const user = { username, passwordHash, roles, disabled: false, source: 'COMMAND', createdAtMs } as const;
    if (!(await users.add(user))) throw nameTaken(username);
    return viewOf(user, undefined);
  }

  /** Sets the roles, and disables or enables the user; what is undefined stays. Disabling ends the sessions. Rejects with
   *  USER_NOT_FOUND, USER_CONFIGURED, OWN_USER and LAST_ADMINISTRATOR. */
  async change(
    caller: Caller,
    username: string,
    {
      roles,
      disabled,
    }: { readonly roles?: readonly Role[] | undefined; readonly disabled?: boolean | undefined },
  ): Promise<UserView> {
    refuseUnlessLoggedIn(caller);
    const user = await this.#changeable(username);
    const losesRole = roles !== undefined && !holdsRole({ roles }, 'ADMIN');
    const isOwn = caller.by === 'SESSION' && caller.username === username;
    if (isOwn && (losesRole || disabled === true)) throw ownUser(username);
    const change: UserChange = {
      ...(roles === undefined ? {} : { roles }),
      ...(disabled === undefined ? {} : { disabled }),
      endSessions: disabled === true,
    };
    const { users } = this.#options;
    if (!losesRole && disabled !== true) await users.change(username, change);
    else if (!(await users.changeUnlessLastAdministrator(username, change))) throw lastAdministrator(user);
    return this.#view(username);
  }

  /** Sets the password, which ends the sessions. Rejects with USER_NOT_FOUND and USER_CONFIGURED. */
  async setPassword(caller: Caller, username: string, password: string): Promise<void> {
    refuseUnlessLoggedIn(caller);
    await this.#changeable(username);
    const passwordHash = await this.#options.passwords.hash(password);
    await this.#options.users.change(username, { passwordHash, endSessions: true });
  }

  /** Ends all sessions of the user, also of one in the configuration. Rejects with USER_NOT_FOUND. */
  async endSessions(caller: Caller, username: string): Promise<void> {
    refuseUnlessLoggedIn(caller);
    if (!(await this.#options.users.change(username, { endSessions: true }))) throw noUser(username);
  }

  async #changeable(username: string): Promise<UserRecord> {
    const user = await this.#options.users.find(username);
    if (!user) throw noUser(username);
    if (user.source !== 'CONFIGURATION') return user;
    throw new HubError(
      'USER_CONFIGURED',
      `${username} comes from the configuration (security.users): change it there, and reload or restart the hub`,
    );
  }

  async #view(username: string): Promise<UserView> {
    const { users, sessions, clock } = this.#options;
    const user = await users.find(username);
    // A command may have removed it meanwhile.
    if (!user) throw noUser(username);
    return viewOf(user, (await sessions.ofUsers(clock.nowMs())).get(username));
  }
}

function viewOf({ passwordHash: _, ...user }: UserRecord, sessions: UserSessions | undefined): UserView {
  const { count = 0, latestStartedAtMs = null } = sessions ?? {};
  return { ...user, sessions: count, latestLoginAtMs: latestStartedAtMs };
}

function refuseOnOpenHub({ by }: Caller): void {
  if (by !== 'OPEN_HUB') return;
  throw new HubError(
    'FORBIDDEN',
    'security is off: there are no users, and everybody may do everything; security.enabled: true changes that',
  );
}

function refuseUnlessLoggedIn(caller: Caller): void {
  refuseOnOpenHub(caller);
  if (caller.by !== 'PERSONAL_TOKEN') return;
  throw new HubError(
    'FORBIDDEN',
    'a personal access token cannot change users: log in at /api/2.0/auth/login for that',
  );
}

function noUser(username: string): HubError {
  return new HubError('USER_NOT_FOUND', `there is no user ${escapedName(username)}: /api/x/users lists all`);
}

function nameTaken(username: string): HubError {
  return new HubError('USER_EXISTS', `there is a user ${username} already: set the password of that one`);
}

function ownUser(username: string): HubError {
  return new HubError(
    'OWN_USER',
    `${username} is you: another administrator can disable you, or take the role ADMIN from you`,
  );
}

function lastAdministrator({ username }: UserRecord): HubError {
  return new HubError(
    'LAST_ADMINISTRATOR',
    `${username} is the last user of the hub who is enabled and has the role ADMIN: give it to another one first`,
  );
}
