/** The key files of the data folder, which all hubs of a store have alike. */

/** Files in `dataDir` whose content all hubs share. */
export const KEY_FILES = [
  'agent-token',
  'storage-key',
  'token-keys.json',
  'webhook-keys',
  'manifest-keys',
  'update-keys',
  'cluster-id',
] as const;

/** Decides whether a key that this hub had before it shared any may be replaced by that of the store: rejects if not.
 *  @param name One of {@link KEY_FILES}.
 *  @param former Content of the file. */
export type BeforeReplacing = (name: string, former: string) => Promise<void>;

export interface KeyFiles {
  /** Makes the files those of the store, and brings a file that a command has changed since the last call to all hubs. A file that the
   *  store does not have yet becomes that of all; one that was removed from it since the last call does not. Rejects with HubError `STORE_UNAVAILABLE`, and as `beforeReplacing` does. */
  share(beforeReplacing?: BeforeReplacing): Promise<void>;
}
