/** Tasks that are written directly into a store, because requests would take hours. */
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { SeededRandom } from '../../support/random.js';

/** A task in the columns that both stores have. */
export interface StoredTask {
  readonly id: string;
  readonly type: TaskType;
  readonly status: TaskStatus;
  readonly priority: number;
  /** Place of its requirement among those that are written, from 0. */
  readonly requirement: number;
  readonly requested_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly attempt: number;
  readonly agent_id: string | null;
  readonly instance_id: string | null;
  readonly instance_version: string | null;
  readonly instance_revision: string | null;
  readonly batch_status: string | null;
  readonly creator: string | null;
  readonly name: string | null;
  readonly classifiers: string;
  readonly job: string;
}

export interface StoredTasks {
  /** Requirement keys. */
  readonly requirements: readonly string[];
  /** In the order of their creation. */
  readonly tasks: Iterable<StoredTask>;
}

/** UUIDv7 text of this time. */
export function idOf(atMs: number, random: SeededRandom): string {
  const time = atMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hexOf(random, 3)}-8${hexOf(random, 3)}-${hexOf(random, 6)}${hexOf(random, 6)}`;
}

export function hexOf(random: SeededRandom, digits: number): string {
  return random
    .below(16 ** digits)
    .toString(16)
    .padStart(digits, '0');
}
