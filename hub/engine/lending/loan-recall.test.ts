import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InstanceView } from '../../core/ports/nodes.js';
import type { FormerAttempt } from '../../core/ports/task-archive.js';
import type { Task } from '../../core/task.js';
import { LoanRecall, type OccupyingLoan } from './loan-recall.js';

const WAIT_MS = 60_000;
const instanceClass = { version: '9', labels: ['forming'], runs: undefined };

let runtime: ReturnType<typeof manualRuntime>;
let loans: OccupyingLoan[];
/** Tasks of the hub that wait, in their order, with the time since which they do. */
let waiting: { id: string; sinceMs: number; formerEndMs?: number }[];
let views: Map<string, Pick<InstanceView, 'status' | 'drain'>>;
let excludedAgents: Set<string>;
/** Tasks that do not end in time on any host. */
let tooLong: Set<string>;
let failures: number;
let isPaused: boolean;
let canceled: string[];
let recall: LoanRecall;

beforeEach(() => {
  runtime = manualRuntime();
  loans = [];
  waiting = [];
  views = new Map();
  excludedAgents = new Set();
  tooLong = new Set();
  failures = 0;
  isPaused = false;
  canceled = [];
  recall = new LoanRecall({
    loans: () => loans,
    isPaused: () => isPaused,
    scheduler: { groupsFor: async () => [1] },
    queue: {
      heads: async ([asked]) =>
        waiting.slice(0, asked?.limit).map(({ id }, sequence) => ({
          taskId: id,
          groupId: 1,
          requirementKey: requirementKey({ version: null, labels: ['forming'] }),
          priorityRank: 2,
          sequence,
          timeLimitS: tooLong.has(id) ? 7200 : null,
        })),
    },
    exclusions: { isAllowed: (_, agentId) => !excludedAgents.has(agentId) },
    hostEnds: { isAllowed: ({ timeLimitS }) => timeLimitS !== 7200 },
    archive: {
      find: async (taskId) => {
        const own = waiting.find(({ id }) => id === taskId);
        const attempt = own?.formerEndMs === undefined ? 0 : 1;
        if (own) return { id: taskId, status: 'WAITING', requestedAtMs: own.sinceMs, attempt } as Task;
        return { id: taskId, status: 'RUNNING' } as Task;
      },
      formerAttempts: async (taskId) =>
        waiting.flatMap(({ id, formerEndMs: endedAtMs = null }) =>
          id === taskId && endedAtMs !== null ? [{ endedAtMs } as FormerAttempt] : [],
        ),
    },
    transitions: {
      cancel: async ({ id }) => {
        if (failures-- > 0) throw new Error('the database is away');
        canceled.push(id);
        return true;
      },
    },
    instances: {
      classes: [instanceClass],
      find: (id) => {
        const view = views.get(id);
        return (
          view &&
          ({
            ...view,
            profile: { id, revision: '1', ...instanceClass },
            agentId: `at-${id}`,
            startedAtMs: 0,
            working: true,
          } satisfies InstanceView)
        );
      },
    },
    clock: runtime.clock,
    timers: runtime.timers,
    log: { info: () => undefined, warn: () => undefined },
  });
  recall.start();
});

function lent(taskId: string, instanceId: string, more: Partial<OccupyingLoan> = {}): void {
  loans.push({ taskId, instanceId, isEnding: false, takeBackMs: WAIT_MS, ...more });
  views.set(instanceId, { status: 'UP', drain: null });
}

function waits(id: string, forMs: number, more: { formerEndMs?: number } = {}): void {
  waiting.push({ id, sinceMs: runtime.clock.nowMs() - forMs, ...more });
}

/** Lets so many passes go by. */
async function passes(count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await runtime.advance(1000);
}

describe('loans are recalled', () => {
  it('when a task has waited for long enough, and no sooner', async () => {
    lent('loan-1', 'press');
    waits('own', WAIT_MS - 5000);
    await passes(4);
    expect(canceled).toEqual([]);
    await passes(2);
    expect(canceled).toEqual(['loan-1']);
  });

  it('one for each task, the latest first, and none while the instances start again', async () => {
    for (const number of [1, 2, 3]) lent(`loan-${number}`, `press-${number}`);
    waits('own-1', WAIT_MS);
    waits('own-2', WAIT_MS);
    await passes(2);
    expect(canceled).toEqual(['loan-3', 'loan-2']);
    loans = loans.filter(({ taskId }) => taskId === 'loan-1');
    await passes(200);
    expect(canceled).toHaveLength(2);
  });

  it('again after five minutes, if the task still waits', async () => {
    lent('loan-1', 'press');
    waits('own', WAIT_MS);
    await passes(2);
    loans = [];
    lent('loan-2', 'press');
    await passes(290);
    expect(canceled).toEqual(['loan-1']);
    await passes(20);
    expect(canceled).toEqual(['loan-1', 'loan-2']);
  });

  it('for the next task when none can help the first one', async () => {
    lent('loan-1', 'press');
    waits('long', 10 * WAIT_MS);
    waits('own', WAIT_MS);
    tooLong.add('long');
    await passes(2);
    expect(canceled).toEqual(['loan-1']);
  });

  it('a second later when that has failed', async () => {
    lent('loan-1', 'press');
    waits('own', WAIT_MS);
    failures = 1;
    await passes(3);
    expect(canceled).toEqual(['loan-1']);
  });

  it.each<[string, () => void]>([
    [
      'no task may begin',
      () => {
        isPaused = true;
      },
    ],
    ['the instance is not up', () => void views.set('press', { status: 'STARTING', drain: null })],
    ['its agent is away', () => void views.set('press', { status: 'UNKNOWN', drain: null })],
    [
      'its agent is drained',
      () => void views.set('press', { status: 'UP', drain: { agentId: 'at-press', by: 'anna', sinceMs: 0 } }),
    ],
    ['the task avoids its agent', () => void excludedAgents.add('at-press')],
    ['its host has too little time for the task', () => void tooLong.add('own')],
    [
      'the loan is being ended already',
      () => {
        loans = loans.map((loan) => ({ ...loan, isEnding: true }));
      },
    ],
    [
      'the site allows any wait',
      () => {
        loans = loans.map((loan) => ({ ...loan, takeBackMs: null }));
      },
    ],
    [
      'the task has come back into the queue a moment ago',
      () => {
        waiting = waiting.map((own) => ({ ...own, formerEndMs: runtime.clock.nowMs() }));
      },
    ],
  ])('never while %s', async (_, arrange) => {
    lent('loan-1', 'press');
    waits('own', 10 * WAIT_MS);
    arrange();
    await passes(30);
    expect(canceled).toEqual([]);
  });
});

it('nothing is recalled after the stop', async () => {
  lent('loan-1', 'press');
  waits('own', WAIT_MS);
  await recall.stop();
  await passes(5);
  expect(canceled).toEqual([]);
});
