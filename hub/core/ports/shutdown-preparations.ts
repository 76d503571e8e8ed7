/** Shutdown preparations: that of this hub, which ends with its process, and that of all hubs of the store. */

/** HUB: this one; CLUSTER: all hubs of the store. */
export type PreparationScope = 'HUB' | 'CLUSTER';

/** Time at which each was initiated, in milliseconds since 1970; null while it is not. */
export type Preparations = Readonly<Record<PreparationScope, number | null>>;

/** All reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL`, and then change nothing. */
export interface ShutdownPreparations {
  read(): Promise<Preparations>;
  /** Initiates a preparation, or ends it with null. An initiated one keeps its time. Resolves with what is in force then. */
  change(scope: PreparationScope, initiatedAtMs: number | null): Promise<Preparations>;
}
