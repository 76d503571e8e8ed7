/** Secrets with which the agents of allocations join. All hubs on one store make the same ones, so none is kept. */
export interface AllocationSecrets {
  /** The secret of the agent of an allocation. */
  of(allocationId: string): string;
  /** Id of the allocation that a secret is for; null for one that is none. */
  idOf(secret: string): string | null;
}
