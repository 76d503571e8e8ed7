/** A store with a long history, written directly into the database, because requests would take hours. */
import { openDatabase, type SqliteDatabase } from '@workbench-hub/hub/store/sqlite/database';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { priorityRank } from '@workbench-hub/shared/domain/priority';
import { type SeededRandom, seededRandom } from '../../support/random.js';

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

const INSERT = `
  INSERT INTO task (id, type, status, priority, requirement_id, requested_at, started_at, ended_at, attempt, agent_id,
                    instance_id, instance_version, instance_revision, batch_status, creator, name, classifiers, job)
  VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Creates and opens the database. Ended tasks come first, then running, then waiting ones. */
export function fillStore(
  file: string,
  { ended, waiting, running }: StoreSize,
  seed: number,
): SqliteDatabase {
  const random = seededRandom(seed);
  const db = openDatabase(file);
  db.pragma('synchronous = OFF');
  db.prepare('INSERT INTO requirement (id, key) VALUES (1, ?)').run(
    requirementKey({ version: '9*', labels: [] }),
  );
  const insert = db.prepare(INSERT);
  const total = ended + running + waiting;
  const rareEvery = Math.floor(ended / RARE.count);
  db.transaction(() => {
    for (let at = 0; at < total; at++) {
      const rare = at < ended && rareEvery > 0 && at % rareEvery === 0 && at / rareEvery < RARE.count;
      const status = at < ended ? endedStatus(rare, random) : at < ended + running ? 'RUNNING' : 'WAITING';
      insert.run(...rowOf(at, status, rare, random));
    }
  })();
  db.pragma('synchronous = FULL');
  db.pragma('wal_checkpoint(TRUNCATE)');
  return db;
}

function endedStatus(rare: boolean, random: SeededRandom): string {
  if (rare) return RARE.status;
  return random.oneIn(50) ? 'CANCELED' : 'FINISHED';
}

function rowOf(at: number, status: string, rare: boolean, random: SeededRandom): (string | number | null)[] {
  const requestedAt = FIRST_REQUEST_MS + at * REQUEST_EVERY_MS;
  const started = status === 'RUNNING' || status === 'FINISHED' || status === 'FAILED';
  const ended = status !== 'RUNNING' && status !== 'WAITING';
  const batch = random.oneIn(2);
  const instance = started ? ['agent-1', `sim-${at % INSTANCES}`, '9.1.0', '4711'] : [null, null, null, null];
  return [
    idOf(requestedAt, random),
    batch ? 'EXECUTE_BATCH_JOB' : 'SIMULATE_WORK',
    status,
    random.oneIn(20) ? priorityRank('HIGH') : priorityRank('NORMAL'),
    requestedAt,
    started ? requestedAt + 5 : null,
    ended ? requestedAt + 1000 : null,
    started ? 1 : 0,
    ...instance,
    batch && status === 'FINISHED' ? 'OK' : null,
    rare ? RARE.creator : `user${random.below(CREATORS)}`,
    rare ? RARE.name : `Gear study ${hexOf(random, 4)} run ${at}`,
    CLASSIFIERS,
    batch ? BATCH_JOB : JOB,
  ];
}

/** UUIDv7 text of this time. */
export function idOf(atMs: number, random: SeededRandom): string {
  const time = atMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hexOf(random, 3)}-8${hexOf(random, 3)}-${hexOf(random, 6)}${hexOf(random, 6)}`;
}

function hexOf(random: SeededRandom, digits: number): string {
  return random
    .below(16 ** digits)
    .toString(16)
    .padStart(digits, '0');
}
