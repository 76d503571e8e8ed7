/** Users, from the configuration, which overrides its own, and from `workbench-hub user`. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Role } from '../../core/access.js';
import { isUsername, passwordError, USERNAME_ALLOWED } from '../../core/accounts.js';
import { escapedName } from '../../core/names.js';
import type { Passwords, UserRecord, UserStore } from '../../core/ports/accounts.js';

/** A command that cannot be carried out; the message is shown to the operator. */
export class AccountRefused extends Error {
  override readonly name = 'AccountRefused';
}

/** A user in the configuration. */
export interface ConfiguredUser {
  readonly username: string;
  readonly passwordHash: string;
  readonly roles: readonly Role[];
}

/** Usernames by result of the synchronization with the configuration. */
export interface ImportedUsers {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Users of commands, which the configuration now overrides. */
  readonly overridden: readonly string[];
}

export interface UsersOptions {
  readonly store: UserStore;
  readonly passwords: Passwords;
  readonly clock: Clock;
}

export class Users {
  readonly #options: UsersOptions;

  constructor(options: UsersOptions) {
    this.#options = options;
  }

  list(): Promise<UserRecord[]> {
    return this.#options.store.all();
  }

  /** Checks that a user of this name could be added. Rejects with {@link AccountRefused}, as do all that follow. */
  async refuseNew(username: string): Promise<void> {
    if (!isUsername(username)) {
      throw new AccountRefused(`${escapedName(username)} is no username: it takes ${USERNAME_ALLOWED}`);
    }
    if (await this.#options.store.find(username)) throw nameTaken(username);
  }

  async add(username: string, password: string, roles: readonly Role[]): Promise<void> {
    const { store, clock } = this.#options;
    await this.refuseNew(username);
    const passwordHash = await this.#hashOf(password);
    const added = await store.add({
      username,
      passwordHash,
      roles,
      disabled: false,
      source: 'COMMAND',
      createdAtMs: clock.nowMs(),
    });
    if (!added) throw nameTaken(username);
  }

  /** The user, if commands may change it. */
  async changeable(username: string): Promise<UserRecord> {
    const user = await this.#options.store.find(username);
    if (!user) {
      throw new AccountRefused(
        `there is no user ${escapedName(username)}: "workbench-hub user list" names all`,
      );
    }
    if (user.source === 'CONFIGURATION') throw fromConfiguration(username);
    return user;
  }

  /** Ends the user's sessions, as do disabling and removal. */
  async setPassword(username: string, password: string): Promise<void> {
    await this.changeable(username);
    const passwordHash = await this.#hashOf(password);
    await this.#options.store.change(username, { passwordHash, endSessions: true });
  }

  async setRoles(username: string, roles: readonly Role[]): Promise<void> {
    await this.changeable(username);
    await this.#options.store.change(username, { roles, endSessions: false });
  }

  async setDisabled(username: string, disabled: boolean): Promise<void> {
    await this.changeable(username);
    await this.#options.store.change(username, { disabled, endSessions: disabled });
  }

  async remove(username: string): Promise<void> {
    await this.changeable(username);
    await this.#options.store.remove(username);
  }

  /** Makes the users of source CONFIGURATION equal to the list. Removed users and changed passwords end sessions. */
  async synchronize(configured: readonly ConfiguredUser[]): Promise<ImportedUsers> {
    const { store, clock } = this.#options;
    const done = {
      added: [] as string[],
      changed: [] as string[],
      removed: [] as string[],
      overridden: [] as string[],
    };
    for (const user of configured) {
      const known = await store.find(user.username);
      if (!known) {
        await store.add({ ...user, disabled: false, source: 'CONFIGURATION', createdAtMs: clock.nowMs() });
        done.added.push(user.username);
      } else if (!isAs(known, user)) {
        const endSessions = known.passwordHash !== user.passwordHash;
        const { passwordHash, roles } = user;
        await store.change(user.username, {
          passwordHash,
          roles,
          disabled: false,
          source: 'CONFIGURATION',
          endSessions,
        });
        (known.source === 'CONFIGURATION' ? done.changed : done.overridden).push(user.username);
      }
    }
    const listed = new Set(configured.map(({ username }) => username));
    for (const { username, source } of await store.all()) {
      if (source !== 'CONFIGURATION' || listed.has(username)) continue;
      await store.remove(username);
      done.removed.push(username);
    }
    return done;
  }

  #hashOf(password: string): Promise<string> {
    const fault = passwordError(password);
    if (fault !== undefined) throw new AccountRefused(fault);
    return this.#options.passwords.hash(password);
  }
}

/** Refusal to change a user of the configuration by a command. */
export function fromConfiguration(username: string): AccountRefused {
  return new AccountRefused(
    `${username} comes from the configuration file: change it there, and restart the hub`,
  );
}

function isAs(known: UserRecord, { passwordHash, roles }: ConfiguredUser): boolean {
  return (
    known.source === 'CONFIGURATION' &&
    !known.disabled &&
    known.passwordHash === passwordHash &&
    known.roles.join() === roles.join()
  );
}

function nameTaken(username: string): AccountRefused {
  return new AccountRefused(
    `there is a user ${username} already: "workbench-hub user passwd" gives another password`,
  );
}
