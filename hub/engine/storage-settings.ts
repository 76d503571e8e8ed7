export interface StorageSettings {
  readonly input: {
    readonly enabled: boolean;
    readonly expireAfterMs: number;
    readonly maxFileBytes: number;
    /** Null for no quota. */
    readonly quotaPerUserBytes: number | null;
  };
  readonly output: { readonly enabled: boolean; readonly expireAfterMs: number };
}
