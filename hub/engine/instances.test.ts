/** Which instances are idle, whatever has become of them. */
import type { InstanceReport } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { describe, expect, it } from 'vitest';
import { Instances } from './instances.js';

function joined(...reports: InstanceReport[]) {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => ++nowMs };
  const instances = new Instances(clock, { warn: () => {} } as unknown as Logger);
  const join = (id: string, held: readonly InstanceReport[], running: readonly string[] = []) => {
    const agent = { id, version: '1', revision: '', address: null, clockOffsetMs: null };
    const attempts = running.map((instanceId) => ({ taskId: 't', attempt: 1, instanceId }));
    instances.connected(agent, held, attempts);
  };
  join('a', reports);
  instances.ready('a');
  const idle = () =>
    [...instances.idle.values()].flatMap((ofKind) =>
      ofKind.agents.flatMap(({ instances: ofAgent, busy }) =>
        ofAgent.map(({ profile }) => `${profile.id} beside ${busy}`),
      ),
    );
  return { instances, join, idle };
}

const up = (id: string, version = '1'): InstanceReport => ({
  id,
  version,
  revision: '',
  labels: [],
  status: 'UP',
  upForMs: 1,
});
const on = (instanceId: string) => ({ taskId: 't', attempt: 1, instanceId });

describe('idle are', () => {
  it('those that are up and have no task, with how many of their agent have one', () => {
    const { instances, idle } = joined(up('i1'), up('i2'), { ...up('i3'), status: 'DOWN', upForMs: null });
    expect(idle()).toEqual(['i1 beside 0', 'i2 beside 0']);
    instances.occupy(on('i1'), 'a');
    expect(idle()).toEqual(['i2 beside 1']);
    instances.vacate('a', on('i1'));
    expect(idle()).toEqual(['i2 beside 0', 'i1 beside 0']);
    instances.changed('a', up('i3'));
    instances.changed('a', { ...up('i1'), status: 'DOWN', upForMs: null });
    expect(idle()).toEqual(['i2 beside 0', 'i3 beside 0']);
  });

  it('in the order in which they became idle: one that came up late comes last', () => {
    const { instances, idle } = joined({ ...up('i1'), status: 'STARTING', upForMs: null }, up('i2'));
    expect(idle()).toEqual(['i2 beside 0']);
    instances.changed('a', up('i1'));
    expect(idle()).toEqual(['i2 beside 0', 'i1 beside 0']);
    // Told again, it is idle for no shorter time.
    instances.changed('a', up('i2'));
    expect(idle()).toEqual(['i2 beside 0', 'i1 beside 0']);
  });

  it('not those that rest, until they are called', () => {
    const { instances, idle } = joined(up('i1'));
    instances.occupy(on('i1'), 'a');
    const wake = instances.vacate('a', on('i1'), true);
    expect(idle()).toEqual([]);
    wake();
    expect(idle()).toEqual(['i1 beside 0']);
  });

  it('none of an agent that is away, or has not been reconciled', () => {
    const { instances, join, idle } = joined(up('i1'), up('i2'));
    instances.away('a');
    expect(idle()).toEqual([]);
    join('a', [up('i1'), up('i2')], ['i2']);
    expect(idle()).toEqual([]);
    instances.ready('a');
    expect(idle()).toEqual(['i1 beside 1']);
  });

  it('none that are held no more, also when their rest ends after that', () => {
    const { instances, join, idle } = joined(up('i1'), up('i2'));
    instances.occupy(on('i1'), 'a');
    const wake = instances.vacate('a', on('i1'), true);
    instances.away('a');
    join('b', [up('i1')]);
    instances.ready('b');
    wake();
    expect(idle()).toEqual(['i1 beside 0']);
    join('b', []);
    instances.ready('b');
    expect(idle()).toEqual([]);
    expect(instances.idle.size).toBe(0);
  });

  it('beside as many as work now, not those that worked when their agent came before', () => {
    const { instances, join, idle } = joined();
    join('a', [up('i1'), up('i2')], ['i1']);
    instances.ready('a');
    expect(idle()).toEqual(['i2 beside 1']);
    join('a', [up('i2')]);
    instances.ready('a');
    expect(idle()).toEqual(['i2 beside 0']);
  });

  it('of as many kinds as there are versions and sets of labels', () => {
    const { instances, join } = joined(up('i1'), up('i2'), up('i3', '2'));
    expect(instances.kinds).toHaveLength(2);
    const { kindsVersion } = instances;
    join('b', [up('i4')]);
    expect(instances.kindsVersion).toBe(kindsVersion);
    join('a', [up('i1')]);
    expect(instances.kinds).toHaveLength(1);
    expect(instances.kindsVersion).toBeGreaterThan(kindsVersion);
  });
});
