/** Who may change a file of the input storage: its owner, the role ADMIN, and with `storage.input.shared` every USER (contract 7.3). */
import { type Caller, creatorOf, holdsRole } from '../../core/access.js';
import { HubError } from '../../core/errors.js';

/** The user who changes files of the input storage. */
export interface StorageUser {
  /** Owner of what is stored; null while security is off. */
  readonly owner: string | null;
  /** Whether the files of others may be changed, too. */
  readonly changesAll: boolean;
}

export function storageUserOf(caller: Caller): StorageUser {
  return { owner: creatorOf(caller), changesAll: holdsRole(caller, 'ADMIN') };
}

/** The user whose files only may be changed; undefined for those of anybody. */
export function ownFilesOnly(
  { owner, changesAll }: StorageUser,
  settings: { readonly shared: boolean },
): string | undefined {
  return changesAll || settings.shared || owner === null ? undefined : owner;
}

export function foreignFile(name: string, owner: string | null): HubError {
  const whose = owner === null ? 'was stored while security was off' : `is a file of ${owner}`;
  return new HubError(
    'STORED_FILE_FOREIGN',
    `${name} ${whose}: only ${owner === null ? 'the role ADMIN' : 'its owner and the role ADMIN'} may overwrite, renew or delete it ` +
      '(storage.input.shared)',
  );
}
