/** Idle instances after each kind of change. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import type { StartedInstance } from '../../core/ports/presence.js';
import { Instances } from './instances.js';

const NOW_MS = 1_800_000_000_000;

/** Instances with these ids are kept for other hubs. */
const FOR_OTHERS = new Set(['lent-1', 'lent-2']);

function joined(...reports: StartedInstance[]) {
  const { clock, timers, advance } = manualRuntime(NOW_MS);
  const instances = new Instances({
    clock,
    timers,
    log: { warn: () => {} } as unknown as Logger,
    isForOthers: ({ id }) => FOR_OTHERS.has(id),
  });
  const join = (id: string, held: readonly StartedInstance[], running: readonly string[] = []) => {
    const agent = { id, version: '1', revision: '', address: null, clockOffsetMs: null };
    const attempts = running.map((instanceId) => ({ taskId: 't', attempt: 1, instanceId }));
    instances.connected(agent, held, attempts);
  };
  join('a', reports);
  instances.ready('a');
  const idle = () =>
    [...instances.idle.values()].flatMap((ofClass) =>
      ofClass.hosts.flatMap(({ instances: ofAgent, busy }) =>
        ofAgent.map(({ profile }) => `${profile.id} beside ${busy}`),
      ),
    );
  /** Lets the cooldown pass. */
  const coolDown = () => advance(1000);
  return { instances, join, idle, coolDown };
}

const up = (id: string, version = '1'): StartedInstance => ({
  id,
  version,
  revision: '',
  labels: [],
  status: 'UP',
  upForMs: 1,
  startedAtMs: 1,
});
const down = { status: 'DOWN', upForMs: null, startedAtMs: null } as const;
const AGENT = {
  ...{ id: 'a', nodeId: 'n', joinNumber: null, version: '1', revision: '' },
  ...{ address: null, clockOffsetMs: null, seenAtMs: 5 },
};
const on = (instanceId: string) => ({ taskId: 't', attempt: 1, instanceId });

describe('the idle instances', () => {
  it('are those that are up and have no task, with the number of busy instances of their agent', () => {
    const { instances, idle } = joined(up('i1'), up('i2'), { ...up('i3'), ...down });
    expect(idle()).toEqual(['i1 beside 0', 'i2 beside 0']);
    instances.reserve(on('i1'), 'a');
    expect(idle()).toEqual(['i2 beside 1']);
    instances.release('a', on('i1'));
    expect(idle()).toEqual(['i2 beside 0', 'i1 beside 0']);
    instances.changed('a', up('i3'));
    instances.changed('a', { ...up('i1'), ...down });
    expect(idle()).toEqual(['i2 beside 0', 'i3 beside 0']);
  });

  it('are not those that are kept for other hubs, which are idle only when they are asked for', () => {
    const { instances, idle } = joined(up('i1'), up('lent-1'), { ...up('lent-2'), ...down });
    expect(idle()).toEqual(['i1 beside 0']);
    expect(instances.idleInstance('lent-1')?.profile.id).toBe('lent-1');
    expect(instances.idleInstance('lent-2')).toBeUndefined();
    instances.reserve(on('lent-1'), 'a');
    expect(instances.idleInstance('lent-1')).toBeUndefined();
    instances.release('a', on('lent-1'));
    expect(instances.idleSinceMsOf('lent-1')).not.toBeNull();
    expect(idle()).toEqual(['i1 beside 0']);
    expect(instances.find('lent-1')).toMatchObject({ status: 'UP', lent: 'KEPT' });
    instances.setDrains([{ agentId: 'a', by: 'anna', sinceMs: 0 }]);
    expect(instances.idleInstance('lent-1')).toBeUndefined();
  });

  it('are in the order in which they became idle', () => {
    const { instances, idle } = joined({ ...up('i1'), ...down, status: 'STARTING' }, up('i2'));
    expect(idle()).toEqual(['i2 beside 0']);
    instances.changed('a', up('i1'));
    expect(idle()).toEqual(['i2 beside 0', 'i1 beside 0']);
    // A repeated report does not shorten its idle time.
    instances.changed('a', up('i2'));
    expect(idle()).toEqual(['i2 beside 0', 'i1 beside 0']);
  });

  it('are in that order with those that other hubs lend, which are idle from their offer on', async () => {
    const lent = (id: string, as: 'OFFERED' | 'IN_USE') => ({ ...up(id), lent: as });
    const { instances, idle, coolDown } = joined(lent('l1', 'OFFERED'), lent('l2', 'OFFERED'));
    await coolDown();
    instances.changed('a', lent('l1', 'OFFERED'));
    expect(instances.idleSinceMsOf('l1')).toBe(instances.idleSinceMsOf('l2'));
    instances.changed('a', lent('l1', 'IN_USE'));
    expect(idle()).toEqual(['l2 beside 0']);
    instances.changed('a', lent('l1', 'OFFERED'));
    expect(idle()).toEqual(['l2 beside 0', 'l1 beside 0']);
  });

  it('do not include an instance during its cooldown', async () => {
    const { instances, idle, coolDown } = joined(up('i1'));
    instances.reserve(on('i1'), 'a');
    instances.release('a', on('i1'), { coolsDown: true });
    expect(idle()).toEqual([]);
    await coolDown();
    expect(idle()).toEqual(['i1 beside 0']);
  });

  it('do not include those of an agent that is disconnected or not yet reconciled', () => {
    const { instances, join, idle } = joined(up('i1'), up('i2'));
    instances.disconnected('a');
    expect(idle()).toEqual([]);
    join('a', [up('i1'), up('i2')], ['i2']);
    expect(idle()).toEqual([]);
    instances.ready('a');
    expect(idle()).toEqual(['i1 beside 1']);
  });

  it('do not include removed instances, even when their cooldown ends later', async () => {
    const { instances, join, idle, coolDown } = joined(up('i1'), up('i2'));
    instances.reserve(on('i1'), 'a');
    instances.release('a', on('i1'), { coolsDown: true });
    instances.disconnected('a');
    join('b', [up('i1')]);
    instances.ready('b');
    await coolDown();
    expect(idle()).toEqual(['i1 beside 0']);
    join('b', []);
    instances.ready('b');
    expect(idle()).toEqual([]);
    expect(instances.idle.size).toBe(0);
  });

  it('have the present number of busy instances, not that of an earlier join', () => {
    const { instances, join, idle } = joined();
    join('a', [up('i1'), up('i2')], ['i1']);
    instances.ready('a');
    expect(idle()).toEqual(['i2 beside 1']);
    join('a', [up('i2')]);
    instances.ready('a');
    expect(idle()).toEqual(['i2 beside 0']);
  });

  it('have one class for each version and set of labels', () => {
    const { instances, join } = joined(up('i1'), up('i2'), up('i3', '2'));
    expect(instances.classes).toHaveLength(2);
    const { classesVersion } = instances;
    join('b', [up('i4')]);
    expect(instances.classesVersion).toBe(classesVersion);
    join('a', [up('i1')]);
    expect(instances.classes).toHaveLength(1);
    expect(instances.classesVersion).toBeGreaterThan(classesVersion);
  });
});

it('subscribers are called at each change that may let a waiting task start', async () => {
  const { instances, join, coolDown } = joined(up('i1'));
  let told = 0;
  instances.onCapacity(() => told++);
  const timesTold = async (act: () => unknown) => {
    told = 0;
    await act();
    return told;
  };
  expect(await timesTold(() => instances.reserve(on('i1'), 'a'))).toBe(0);
  expect(await timesTold(() => instances.release('a', on('i1'), { coolsDown: true }))).toBe(1);
  expect(await timesTold(coolDown)).toBe(1);
  expect(await timesTold(() => instances.changed('a', up('i1')))).toBe(1);
  expect(await timesTold(() => instances.disconnected('a'))).toBe(1);
  expect(await timesTold(() => join('a', [up('i1')]))).toBe(0);
  expect(await timesTold(() => instances.ready('a'))).toBe(1);
});

describe('the start of an instance', () => {
  const { startedAtMs: _, ...report } = up('i1');

  it('stays that which clients have seen while its program may be the same', () => {
    const { instances } = joined({ ...up('i1'), startedAtMs: 20_000 });
    const joining = (startedMs: number) =>
      instances.joining('a', { ...report, upForMs: NOW_MS - startedMs }).startedAtMs;
    expect(joining(20_999)).toBe(20_000);
    expect(joining(21_000)).toBe(21_000);
    expect(instances.changing('a', { ...report, upForMs: 1 }).startedAtMs).toBe(20_000);
  });

  it('is unknown between two programs, and then that of the next one', () => {
    const { instances } = joined({ ...up('i1'), startedAtMs: 20_000 });
    const ended = instances.changing('a', { ...report, upForMs: null });
    expect(ended.startedAtMs).toBeNull();
    instances.changed('a', ended);
    expect(instances.changing('a', { ...report, upForMs: 5 }).startedAtMs).toBe(NOW_MS - 5);
  });

  it('is computed here when a hub of an earlier version has told none', () => {
    const { instances } = joined();
    const agent = { ...AGENT, instances: [{ ...report, upForMs: 7 } as StartedInstance] };
    instances.onSignal.JOINED?.({ kind: 'JOINED', agent, running: [] });
    expect(instances.find('i1')?.startedAtMs).toBe(NOW_MS - 7);
    instances.onSignal.INSTANCE?.({
      kind: 'INSTANCE',
      agentId: 'a',
      report: { ...report, upForMs: 9 } as StartedInstance,
    });
    expect(instances.find('i1')?.startedAtMs).toBe(NOW_MS - 7);
  });
});

describe('the kind of jobs that an instance runs', () => {
  const models = { models: ['MJCF'] };
  const classes = (instances: Instances) => instances.classes.map(({ runs }) => runs);

  it('changes its class, and lets it begin tasks as before', () => {
    const { instances, idle } = joined(up('i1'), up('i2'));
    const before = instances.classesVersion;
    instances.changed('a', { ...up('i1'), runs: models });
    expect(instances.classesVersion).toBeGreaterThan(before);
    expect(classes(instances)).toEqual([undefined, models]);
    expect(instances.find('i1')?.profile.runs).toEqual(models);
    expect(idle().sort()).toEqual(['i1 beside 0', 'i2 beside 0']);
    instances.reserve(on('i1'), 'a');
    instances.changed('a', up('i1'));
    expect(classes(instances)).toEqual([undefined]);
    expect([...instances.countedClasses]).toMatchObject([{ counts: { idle: 1, busy: 1 } }]);
    instances.release('a', on('i1'));
    expect(idle()).toEqual(['i2 beside 0', 'i1 beside 0']);
  });

  it('is what its program said last, until that is up again', () => {
    const { instances } = joined({ ...up('i1'), runs: models });
    const stopped = { ...up('i1'), ...down };
    expect(instances.joining('a', stopped).runs).toEqual(models);
    expect(instances.changing('a', stopped).runs).toEqual(models);
    expect(instances.joining('a', { ...stopped, version: '2' }).runs).toBeUndefined();
    expect(instances.changing('a', up('i1')).runs).toBeUndefined();
  });
});
