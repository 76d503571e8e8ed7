/** A store with a long history. */
import type { SqliteDatabase } from '@workbench-hub/hub/store/sqlite/connection/database';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { priorityRank } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import { type SeededRandom, seededRandom } from '../../support/random.js';
import { hexOf, idOf, type StoredTask, type StoredTasks } from '../stored-tasks/stored-task.js';
import { writeToSqlite } from '../stored-tasks/write-to-sqlite.js';

export interface StoreSize {
  readonly ended: number;
  readonly waiting: number;
  readonly running: number;
}

/** Rare values for lists to find. */
export const RARE = { count: 3, name: 'Needle in the haystack', creator: 'rita', status: 'FAILED' } as const;

const CREATORS = 100;
const INSTANCES = 16;
/** Yesterday, so that `tasks.keepEndedFor` removes no task during the measurement. */
const FIRST_REQUEST_MS = Date.now() - 86_400_000;
const REQUEST_EVERY_MS = 20;
const CLASSIFIERS = JSON.stringify([{ type: 'VERSION', value: '9*' }]);
const JOB = JSON.stringify({ type: 'SIMULATE_WORK', durationS: 5 });
const BATCH_JOB = JSON.stringify({
  type: 'EXECUTE_BATCH_JOB',
  model: null,
  scripts: [{ digest: '0'.repeat(64), sizeBytes: 100 }],
  additionalFiles: [],
  variables: [{ key: 'speed', value: '100' }],
});

/** Creates and opens the database. */
export function fillStore(file: string, size: StoreSize, seed: number): SqliteDatabase {
  return writeToSqlite(file, longHistory(size, seed));
}

/** Ended tasks come first, then running, then waiting ones. */
export function longHistory(size: StoreSize, seed: number): StoredTasks {
  return { requirements: [requirementKey({ version: '9*', labels: [] })], tasks: tasksOf(size, seed) };
}

function* tasksOf({ ended, waiting, running }: StoreSize, seed: number): Generator<StoredTask> {
  const random = seededRandom(seed);
  const total = ended + running + waiting;
  const rareEvery = Math.floor(ended / RARE.count);
  for (let at = 0; at < total; at++) {
    const rare = at < ended && rareEvery > 0 && at % rareEvery === 0 && at / rareEvery < RARE.count;
    const status = at < ended ? endedStatus(rare, random) : at < ended + running ? 'RUNNING' : 'WAITING';
    yield taskOf(at, status, rare, random);
  }
}

function endedStatus(rare: boolean, random: SeededRandom): TaskStatus {
  if (rare) return RARE.status;
  return random.oneIn(50) ? 'CANCELED' : 'FINISHED';
}

const NO_INSTANCE = { agent_id: null, instance_id: null, instance_version: null, instance_revision: null };

function taskOf(at: number, status: TaskStatus, rare: boolean, random: SeededRandom): StoredTask {
  const requestedAt = FIRST_REQUEST_MS + at * REQUEST_EVERY_MS;
  const started = status === 'RUNNING' || status === 'FINISHED' || status === 'FAILED';
  const ended = status !== 'RUNNING' && status !== 'WAITING';
  const batch = random.oneIn(2);
  const instance = {
    agent_id: 'agent-1',
    instance_id: `sim-${at % INSTANCES}`,
    instance_version: '9.1.0',
    instance_revision: '4711',
  };
  return {
    id: idOf(requestedAt, random),
    type: batch ? 'EXECUTE_BATCH_JOB' : 'SIMULATE_WORK',
    status,
    priority: random.oneIn(20) ? priorityRank('HIGH') : priorityRank('NORMAL'),
    requirement: 0,
    requested_at: requestedAt,
    started_at: started ? requestedAt + 5 : null,
    ended_at: ended ? requestedAt + 1000 : null,
    attempt: started ? 1 : 0,
    ...(started ? instance : NO_INSTANCE),
    batch_status: batch && status === 'FINISHED' ? 'OK' : null,
    creator: rare ? RARE.creator : `user${random.below(CREATORS)}`,
    name: rare ? RARE.name : `Gear study ${hexOf(random, 4)} run ${at}`,
    classifiers: CLASSIFIERS,
    job: batch ? BATCH_JOB : JOB,
  };
}
