/** Orders of a hub to update this agent. */
import type { SignedOrder } from '@workbench-hub/shared/joining/ports/hub';

/** Content of a signed order. */
export interface UpdateOrder {
  readonly agentId: string;
  readonly version: string;
  /** System that the file is for: `linux-x64`. */
  readonly system: string;
  readonly digest: string;
  readonly sizeBytes: number;
  /** Best version of the agent protocol that the file speaks. */
  readonly protocol: number;
}

/** Reads an order that a pinned key has signed; rejects with the error of the disk, and resolves with undefined without such a
 *  signature. */
export type ReadOrder = (order: SignedOrder) => Promise<UpdateOrder | undefined>;
