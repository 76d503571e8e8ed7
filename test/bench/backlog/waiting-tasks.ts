/** Tasks that wait: through the interface the same would take minutes for each run, and leave the same rows. */
import type { Classifier, Requirement } from '@workbench-hub/shared/domain/classifier';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { PRIORITIES, type Priority, priorityRank } from '@workbench-hub/shared/domain/priority';
import { seededRandom } from '../../support/random.js';
import { idOf, type StoredTask, type StoredTasks } from '../stored-tasks/stored-task.js';

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

export function waitingTasks(count: number, seed: number): StoredTasks {
  return { requirements: REQUIREMENTS.map(requirementKey), tasks: tasksOf(count, seed) };
}

/** Id of the first of the tasks. */
export function firstWaiting(seed: number): string {
  const [first] = tasksOf(1, seed);
  return first?.id ?? '';
}

function* tasksOf(count: number, seed: number): Generator<StoredTask> {
  const random = seededRandom(seed);
  for (let at = 0; at < count; at++) {
    const requestedAt = FIRST_REQUEST_MS + at;
    const id = idOf(requestedAt, random);
    const requirement = random.below(REQUIREMENTS.length);
    const priority = random.oneIn(ONE_HIGHEST_IN) ? 'HIGHEST' : random.of(OTHER_PRIORITIES);
    yield {
      id,
      type: 'SIMULATE_WORK',
      status: 'WAITING',
      priority: priorityRank(priority),
      requirement,
      requested_at: requestedAt,
      started_at: null,
      ended_at: null,
      attempt: 0,
      agent_id: null,
      instance_id: null,
      instance_version: null,
      instance_revision: null,
      batch_status: null,
      creator: null,
      name: `Gear study run ${at}`,
      classifiers: JSON.stringify(classifiersOf(REQUIREMENTS[requirement], priority)),
      job: JOB,
    };
  }
}

function classifiersOf(requirement: Requirement | undefined, priority: Priority): Classifier[] {
  const { version = null, labels = [] } = requirement ?? {};
  return [
    ...(version === null ? [] : [{ type: 'VERSION' as const, value: version }]),
    ...(labels.length === 0 ? [] : [{ type: 'LABLES' as const, value: labels.join(',') }]),
    { type: 'PRIORITY', value: priority },
  ];
}
