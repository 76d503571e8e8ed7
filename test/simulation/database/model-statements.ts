/** Statements of the simulated server: what they do is a function over a model of the store, in place of SQL. */
import type { TaskStore } from '@workbench-hub/hub/core/ports/store';
import type { SchedulerFence } from '@workbench-hub/hub/core/ports/task-queue';
import type { Database } from '@workbench-hub/hub/store/postgres/connection/pool';
import {
  type NamedStatement,
  rowOf,
  type Values,
} from '@workbench-hub/hub/store/postgres/connection/statement';
import { CONFIRM_BATCH, type LaneWrite } from '@workbench-hub/hub/store/postgres/lanes/lane-statements';
import type { ModelStore } from '@workbench-hub/hub/store/sqlite/fixtures/model-store';
import { BLOB_BATCHES } from './blob-statements.js';
import type { ClusterTables } from './cluster-tables.js';

/** A value that passes through rows and parameters unchanged. */
export type Box<T = unknown> = () => T;

/** Surroundings of the model. */
export interface Surroundings {
  readonly tables: ClusterTables;
  /** Claims of any term take place. */
  readonly ignoresTerms: boolean;
  /** Called with the term of a claim that took place; null for none. */
  readonly claimed: (term: number | null) => void;
  /** Attempts are taken from agents in any term, whether or not a hub has the agent. */
  readonly ignoresFences: boolean;
  /** Called with the fence of an attempt that was taken though its fence forbids it. */
  readonly tookUnfenced: (fence: SchedulerFence) => void;
}

/** Work of a statement. It may wait for calls of the model only. */
export type ModelWork<T> = (model: ModelStore, around: Surroundings) => Promise<T>;

const LANE_CONDITION = ['laneId', 'incarnation', 'batch', 'ownLanes', 'writtenBatches'] as const;
const LOG = ['notedSeqs', 'notedBatch'] as const;

function named(name: string, parameters: readonly string[]): NamedStatement {
  return { name, text: name, parameters };
}

export const DURABLE_WRITE = named('a durable batch', [...LANE_CONDITION, ...LOG, 'work']);
export const RELAXED_WRITE = named('a batch that does not wait for the disk', [...LANE_CONDITION, 'work']);
export const READ = named('a read', ['work']);

/** Whether a statement of this name is a batch of a lane. */
export function isBatch(name: string): boolean {
  const isOfModel = name === DURABLE_WRITE.name || name === RELAXED_WRITE.name;
  return isOfModel || name === CONFIRM_BATCH.name || BLOB_BATCHES.has(name);
}

/** Parameters of a batch, by name. */
export interface BatchValues {
  readonly laneId: number;
  readonly incarnation: string;
  readonly batch: number;
  readonly ownLanes: readonly number[];
  readonly writtenBatches: readonly number[];
  readonly notedBatch?: number;
  readonly work: ModelWork<readonly unknown[]>;
}

/** A write of the model with the durability and the keys of a real one. */
export function modelWrite<Call, Result>(
  like: Pick<LaneWrite<Call, unknown>, 'isDurable' | 'keys'>,
  perform: (model: ModelStore, call: Call, around: Surroundings) => Promise<Result>,
): LaneWrite<Call, Result> {
  const work =
    (calls: readonly Call[]): ModelWork<Result[]> =>
    async (model, around) => {
      const results: Result[] = [];
      for (const call of calls) results.push(await perform(model, call, around));
      return results;
    };
  return {
    statement: like.isDurable ? DURABLE_WRITE : RELAXED_WRITE,
    isDurable: like.isDurable,
    keys: like.keys,
    values: (calls) => ({ work: work(calls) }),
    results: (_, outcome) => (outcome as Box<Result[]>)(),
  };
}

/** Runs a read of the model on the server; rejects with `DatabaseFault`. */
export async function readModel<T>(
  db: Pick<Database, 'rows'>,
  read: (ports: TaskStore, model: ModelStore) => Promise<T>,
): Promise<T> {
  const work: ModelWork<T> = (model) => read(model.ports, model);
  const row = await rowOf<{ value: Box<T> }, string>(db, READ, { work } as Values<string>);
  return (row as { value: Box<T> }).value();
}
