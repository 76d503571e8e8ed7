/**
 * A store in which many tasks wait, written straight into the database: through the interface the same would take
 * minutes for each run, and leave the same rows.
 */
import { openDatabase } from '@workbench-hub/hub/store/sqlite/database';
import type { Classifier, Requirement } from '@workbench-hub/shared/domain/classifier';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { PRIORITIES, type Priority, priorityRank } from '@workbench-hub/shared/domain/priority';
import { seededRandom } from '../../support/random.js';
import { idOf } from '../lists/fill-store.js';

/** Every one of them fits the first agent, about half of them the second one too. */
export const INSTANCES = [
  { version: '1.0.0', labels: ['fem', 'gears', 'linux'] },
  { version: '1.1.0', labels: ['gears', 'linux'] },
] as const;

const VERSIONS = ['*', '1*', '1.*', '1.0.*', '1.?.0', '?.0.*', '*.0', '*.0.0', '1.0.?', '1.0.0'];
const LABELS = [[], ['gears'], ['gears', 'linux'], ['fem'], ['fem', 'gears']];

const REQUIREMENTS: readonly Requirement[] = VERSIONS.flatMap((version) =>
  LABELS.map((labels) => ({ version, labels })),
);

/** Tasks of the highest priority are rare, so that each ends before the next one begins. */
const ONE_HIGHEST_IN = 1000;
const OTHER_PRIORITIES = PRIORITIES.filter((priority) => priority !== 'HIGHEST');

const FIRST_REQUEST_MS = Date.UTC(2026, 0, 1);
const JOB = JSON.stringify({ type: 'SIMULATE_WORK', durationS: 0 });

const INSERT = `
  INSERT INTO task (id, type, status, priority, requirement_id, requested_at, name, classifiers, job)
  VALUES (?, 'SIMULATE_WORK', 'WAITING', ?, ?, ?, ?, ?, '${JOB}')`;

/** Creates the database and returns the id of one of its tasks. */
export function fillBacklog(file: string, count: number, seed: number): string {
  const random = seededRandom(seed);
  const db = openDatabase(file);
  db.pragma('synchronous = OFF');
  const insertRequirement = db.prepare('INSERT INTO requirement (id, key) VALUES (?, ?)');
  for (const [at, requirement] of REQUIREMENTS.entries()) {
    insertRequirement.run(at + 1, requirementKey(requirement));
  }
  const insert = db.prepare(INSERT);
  let id = '';
  db.transaction(() => {
    for (let at = 0; at < count; at++) {
      id = idOf(FIRST_REQUEST_MS + at, random);
      const which = random.below(REQUIREMENTS.length);
      const priority = random.oneIn(ONE_HIGHEST_IN) ? 'HIGHEST' : random.of(OTHER_PRIORITIES);
      const classifiers = JSON.stringify(classifiersOf(REQUIREMENTS[which], priority));
      const requestedAt = FIRST_REQUEST_MS + at;
      insert.run(id, priorityRank(priority), which + 1, requestedAt, `Gear study run ${at}`, classifiers);
    }
  })();
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return id;
}

function classifiersOf(requirement: Requirement | undefined, priority: Priority): Classifier[] {
  const { version = null, labels = [] } = requirement ?? {};
  return [
    ...(version === null ? [] : [{ type: 'VERSION' as const, value: version }]),
    ...(labels.length === 0 ? [] : [{ type: 'LABLES' as const, value: labels.join(',') }]),
    { type: 'PRIORITY', value: priority },
  ];
}
