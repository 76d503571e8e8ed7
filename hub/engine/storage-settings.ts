export interface StorageSettings {
  readonly input: {
    readonly enabled: boolean;
    readonly expireAfterMs: number;
    readonly maxFileBytes: number;
    /** Null: as much as there is room. */
    readonly quotaPerUserBytes: number | null;
  };
  readonly output: { readonly enabled: boolean; readonly expireAfterMs: number };
}
