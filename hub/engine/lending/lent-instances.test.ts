import type { HubConnection, InstanceState } from '@workbench-hub/shared/joining/ports/hub';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InstanceView } from '../../core/ports/nodes.js';
import { type LendingRule, mayBeLent } from './lending-settings.js';
import { LentInstances } from './lent-instances.js';

const ANY: LendingRule = {
  labels: [],
  instances: [],
  max: null,
  takeBackMs: null,
  isAlways: false,
  hours: [],
  hasHosts: true,
};
const profileOf = (id: string, labels: string[] = []) => ({ id, version: '9', revision: '1', labels });

let runtime: ReturnType<typeof manualRuntime>;
/** The instances of the hub, with the task that each runs. */
let views: Map<string, { view: InstanceView; taskId: string | null; idleSinceMs: number }>;
let sent: string[];
let others: number;
let isPaused: boolean;
/** End of the host of all instances; null for none. */
let endsAtMs: number | null;
/** Times that are left to the host of what was sent. */
let leftMs: (number | undefined)[];

beforeEach(() => {
  runtime = manualRuntime();
  views = new Map();
  sent = [];
  others = 0;
  isPaused = false;
  endsAtMs = null;
  leftMs = [];
});

function put(id: string, taskId: string | null = null): void {
  const view: InstanceView = {
    profile: profileOf(id),
    agentId: 'host',
    status: 'UP',
    startedAtMs: 0,
    working: taskId !== null,
    drain: null,
  };
  views.set(id, { view, taskId, idleSinceMs: runtime.clock.monotonicMs() });
}

function lentBy(lend: LendingRule = ANY): LentInstances {
  return new LentInstances({
    settings: { name: 'hq', agentId: 'berlin', prefix: 'berlin:', lend },
    instances: {
      list: () => [...views.values()].map(({ view }) => view),
      find: (id) => views.get(id)?.view,
      attemptOn: (instanceId) => {
        const taskId = views.get(instanceId)?.taskId ?? null;
        return taskId === null ? null : { taskId, attempt: 1, instanceId };
      },
      idleSinceMsOf: (id) => {
        const known = views.get(id);
        return known && known.taskId === null ? known.idleSinceMs : null;
      },
    },
    hostEnds: { leftMsOf: () => (endsAtMs === null ? null : Math.max(0, endsAtMs - runtime.clock.nowMs())) },
    isLoan: (taskId) => taskId.startsWith('loan'),
    isPaused: () => isPaused,
    onOthers: () => others++,
    clock: runtime.clock,
    timers: runtime.timers,
  });
}

const connection = {
  ended: new AbortController().signal,
  sendInstance: ({ id, lent, host }: InstanceState) => {
    sent.push(`${id} ${lent}`);
    leftMs.push(host?.leftMs);
  },
} as Partial<HubConnection> as HubConnection;

const introduced = (lent: LentInstances) => lent.introduce().map(({ id, lent: state }) => `${id} ${state}`);

describe('an instance that is lent', () => {
  it('is offered while it is idle, and while it works for the upstream', () => {
    put('a');
    put('b', 'loan-1');
    put('c', 'task-1');
    expect(introduced(lentBy())).toEqual(['berlin:a OFFERED', 'berlin:b OFFERED', 'berlin:c IN_USE']);
  });

  it('is in use at once when its own hub uses it, and offered again when it was idle for a moment', async () => {
    put('a');
    const lent = lentBy();
    lent.introduce();
    lent.joined(connection);
    await runtime.advance(1);
    expect(sent).toEqual([]);

    put('a', 'task-1');
    lent.changed('a');
    await runtime.advance(1);
    expect(sent.splice(0)).toEqual(['berlin:a IN_USE']);

    put('a');
    lent.changed('a');
    await runtime.advance(1);
    expect(sent).toEqual([]);
    await runtime.advance(100);
    expect(sent).toEqual(['berlin:a OFFERED']);
  });

  it('is kept while its hub dispatches nothing', async () => {
    put('a');
    const lent = lentBy();
    lent.introduce();
    lent.joined(connection);
    isPaused = true;
    lent.allChanged();
    await runtime.advance(1);
    expect(sent).toEqual(['berlin:a KEPT']);
  });

  it('is known at the upstream by its prefix only', () => {
    put('a');
    const lent = lentBy();
    lent.introduce();
    expect(['berlin:a', 'a', 'berlin:b', 'paris:a'].map((id) => lent.localIdOf(id))).toEqual([
      'a',
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('at most so many instances', () => {
  it('are offered or on loan', async () => {
    put('a', 'loan-1');
    put('b');
    put('c');
    const lent = lentBy({ ...ANY, max: 2 });
    expect(introduced(lent)).toEqual(['berlin:a OFFERED', 'berlin:b OFFERED', 'berlin:c KEPT']);
    lent.joined(connection);
    await runtime.advance(1);
    put('b', 'task-1');
    lent.changed('b');
    await runtime.advance(1);
    expect(sent).toEqual(['berlin:b IN_USE', 'berlin:c OFFERED']);
  });
});

describe('other instances than those that the upstream knows', () => {
  it('are told when one comes, also between the introduction and the welcome', async () => {
    const lent = lentBy();
    expect(lent.introduce()).toEqual([]);
    put('a');
    lent.changed('a');
    await runtime.advance(1);
    expect(others).toBe(0);
    lent.joined(connection);
    await runtime.advance(1);
    expect(others).toBe(1);
  });

  it('are told when one goes', async () => {
    put('a');
    const lent = lentBy();
    lent.introduce();
    lent.joined(connection);
    await runtime.advance(1);
    views.delete('a');
    lent.changed('a');
    await runtime.advance(1);
    expect(others).toBe(1);
  });
});

describe('the host of a lent instance', () => {
  it('is told with the time that it has left, again only when its end changes', async () => {
    put('a');
    endsAtMs = runtime.clock.nowMs() + 60_000;
    const lent = lentBy();
    expect(lent.introduce()).toMatchObject([{ host: { id: 'host', leftMs: 60_000 } }]);
    lent.joined(connection);
    await runtime.advance(20_000);
    lent.changed('a');
    await runtime.advance(1);
    expect(sent).toEqual([]);

    endsAtMs -= 10_000;
    lent.changed('a');
    await runtime.advance(1);
    expect(leftMs).toEqual([endsAtMs - runtime.clock.nowMs() + 1]);
  });

  it('is left out when it stays, and told when it has got an end', async () => {
    put('a');
    const lent = lentBy({ ...ANY, max: 1 });
    expect(lent.introduce()[0]?.host).toBeUndefined();
    lent.joined(connection);
    await runtime.advance(1);
    endsAtMs = runtime.clock.nowMs() + 60_000;
    lent.changed('a');
    await runtime.advance(1);
    expect(leftMs).toEqual([60_000]);
  });

  it('is that of the hub below which lends the instance', () => {
    put('a');
    const known = views.get('a');
    const lentHost = { id: 'gears-1', atMs: runtime.clock.nowMs() + 5000 };
    if (known) views.set('a', { ...known, view: { ...known.view, lentHost } });
    expect(lentBy().introduce()).toMatchObject([{ host: { id: 'gears-1', leftMs: 5000 } }]);
  });
});

describe('a rule', () => {
  it.each([
    [ANY, profileOf('saw'), true],
    [{ ...ANY, labels: ['milling'] }, profileOf('saw', ['Milling', 'steel']), true],
    [{ ...ANY, labels: ['milling'] }, profileOf('saw', ['turning']), false],
    [{ ...ANY, instances: ['mill-*'] }, profileOf('mill-2'), true],
    [{ ...ANY, instances: ['mill-*'] }, profileOf('saw'), false],
    [{ ...ANY, instances: ['mill-*'], labels: ['steel'] }, profileOf('mill-2'), false],
  ])('%o names %o: %s', (rule, profile, isLent) => {
    expect(mayBeLent(rule, profile)).toBe(isLent);
  });
});
