/** Statements that earlier results are not to be reused. Changes are durable when their promise resolves, and reject as those of
 *  `task-queue.ts` do. */
import type { Invalidation } from '../studies/reuse/invalidation.js';

export interface Invalidations {
  add(invalidation: Invalidation): Promise<void>;
  /** Newest first. */
  list(): Promise<Invalidation[]>;
  find(id: string): Promise<Invalidation | undefined>;
  /** True if there was one. */
  remove(id: string): Promise<boolean>;
}
