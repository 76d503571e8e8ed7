export interface StorageSettings {
  readonly input: {
    readonly enabled: boolean;
    readonly expireAfterMs: number;
    readonly maxFileBytes: number;
    /** Null for no quota. */
    readonly quotaPerUserBytes: number | null;
    /** Time without progress after which an unfinished upload is removed. */
    readonly keepUploadsForMs: number;
    /** Whether every USER may overwrite, renew and delete the files of others. */
    readonly shared: boolean;
  };
  readonly output: { readonly enabled: boolean; readonly expireAfterMs: number };
}
