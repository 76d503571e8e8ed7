/** The contract of every account store's suite, and records for it. */
import type { SessionRecord, UserRecord } from '@workbench-hub/hub/core/ports/accounts';
import type { AccountStore, OpenedAccountStore } from '@workbench-hub/hub/core/ports/store';

export interface AccountStoreUnderTest extends AccountStore {
  /** Opens the same data once more, as a command beside the hub does. */
  beside(): Promise<OpenedAccountStore>;
  /** Closes everything and removes the data. */
  close(): Promise<void>;
}

export type OpenAccountStore = () => Promise<AccountStoreUnderTest>;

export function userRecord(rest: Partial<UserRecord> = {}): UserRecord {
  return {
    username: 'anna',
    passwordHash: 'hash',
    roles: ['USER'],
    disabled: false,
    source: 'COMMAND',
    createdAtMs: 5,
    ...rest,
  };
}

/** Opens a session that can be refreshed, and expires at 1000. */
export function openSession(
  { sessions }: AccountStore,
  rest: Partial<SessionRecord> = {},
  passwordHash = 'hash',
): Promise<boolean> {
  const session = { id: 's', username: 'anna', startedAtMs: 1, expiresAtMs: 1000, ...rest };
  const first = { familyHash: `family of ${session.id}`, tokenHash: 'token 0' };
  return sessions.open(session, first, passwordHash);
}
