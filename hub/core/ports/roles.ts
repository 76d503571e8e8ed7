/** The role of the scheduler: of all hubs of a store, one at a time pairs tasks with instances, ends leases and sweeps. */

export interface RoleHolder {
  /** The role is this hub's for a term, whose number is above those of all earlier terms unless no other hub can have had one. A
   *  rejection gives the role up. */
  gained(term: number): Promise<void>;
  /** The role may be another hub's from now on. Resolves when nothing is done for it any longer. */
  lost(): Promise<void>;
}

export interface Roles {
  /** Contends for the role until {@link resign}. Resolves when it was gained, or another hub has it. Rejects as the first `gained`
   *  does, and with HubError `STORE_UNAVAILABLE`. */
  contend(holder: RoleHolder): Promise<void>;
  /** Gives the role up for good, so that another hub gains it at once; calls `lost` first when this hub has it. */
  resign(): Promise<void>;
}
