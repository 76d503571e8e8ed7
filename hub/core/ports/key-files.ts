/** The key files of the data folder, which all hubs of a store have alike. */

/** Files in `dataDir` whose content all hubs share. */
export const KEY_FILES = ['agent-token', 'storage-key', 'token-keys.json', 'webhook-keys'] as const;

export interface KeyFiles {
  /** Makes the files those of the store, and brings a file that a command has changed since the last call to all hubs. A file that the
   *  store does not have yet becomes that of all. Rejects with HubError `STORE_UNAVAILABLE`. */
  share(): Promise<void>;
}
