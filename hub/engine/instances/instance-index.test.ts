/** Instances by class and host, and their order. */
import { describe, expect, it } from 'vitest';
import { compareLocations } from '../../core/idle-instances.js';
import { type IndexedInstance, InstanceIndex } from './instance-index.js';

function indexed() {
  const index = new InstanceIndex();
  const instance = (id: string, agentId = 'a', idleSinceMs = 0, version = '1'): IndexedInstance => {
    const profile = { id, version, revision: '', labels: ['gears'] };
    return { profile, instanceClass: index.add(profile), agentId, idleSinceMs, availability: 'NONE' };
  };
  const idle = (...instances: IndexedInstance[]) => {
    for (const each of instances) index.setAvailability(each, 'IDLE');
  };
  /** Idle instances of each class, by agent. */
  const found = () =>
    [...index.idle].map(([{ version }, { count, hosts }]) => ({
      version,
      count,
      byAgent: Object.fromEntries(
        hosts.map(({ agentId, instances }) => [agentId, instances.map(({ profile }) => profile.id)]),
      ),
    }));
  /** The agents in the order in which they should get tasks. */
  const order = () => [...index.idle.values()].flatMap(({ hosts }) => hosts.map(({ agentId }) => agentId));
  return { index, instance, idle, found, order };
}

/** Expects the agents of each class in order, with these numbers of busy instances. */
function expectSorted({ idle }: InstanceIndex, busy: ReadonlyMap<string, number>): void {
  for (const { count, hosts } of idle.values()) {
    expect(hosts).toEqual([...hosts].sort(compareLocations));
    expect(hosts.flatMap(({ instances }) => instances)).toHaveLength(count);
    for (const { agentId, busy: busyOfAgent, idleSinceMs, instances } of hosts) {
      expect(busyOfAgent).toBe(busy.get(agentId) ?? 0);
      expect(idleSinceMs).toBe(instances[0]?.idleSinceMs);
    }
  }
}

describe('idle instances are found', () => {
  it('by class, then by agent', () => {
    const { instance, idle, found } = indexed();
    idle(instance('i1'), instance('i2', 'b'), instance('i3', 'a', 0, '2'), instance('i4'));
    expect(found()).toEqual([
      { version: '1', count: 3, byAgent: { a: ['i1', 'i4'], b: ['i2'] } },
      { version: '2', count: 1, byAgent: { a: ['i3'] } },
    ]);
  });

  it('the longest idle one of each agent first, in whatever order they became idle', () => {
    const { instance, idle, found } = indexed();
    idle(instance('third', 'a', 3), instance('first', 'a', 1), instance('fourth', 'a', 4));
    idle(instance('second', 'a', 2));
    expect(found()).toMatchObject([{ byAgent: { a: ['first', 'second', 'third', 'fourth'] } }]);
  });

  it('by the host from which a joined hub lends them', () => {
    const { index, instance, idle } = indexed();
    const lent = (id: string, host: string, atMs: number) => ({
      ...instance(id, 'site'),
      lentHost: { id: host, atMs },
    });
    const [first, second] = [lent('i1', 'h1', 10), lent('i2', 'h2', 20)];
    idle(first, second, lent('i3', 'h2', 21), instance('i4', 'site'));
    const hosts = () =>
      [...index.idle.values()].flatMap((ofClass) =>
        ofClass.hosts.map(({ lentHost, instances }) => [
          lentHost?.id,
          lentHost?.atMs,
          instances.map(({ profile }) => profile.id),
        ]),
      );
    expect(hosts()).toEqual([
      ['h1', 10, ['i1']],
      ['h2', 21, ['i2', 'i3']],
      [undefined, undefined, ['i4']],
    ]);
    expect(index.lentHosts).toBe(2);
    index.changeBusy('site', 1);
    expectSorted(index, new Map([['site', 1]]));

    index.setAvailability(first, 'UP');
    index.setAvailability(second, 'UP');
    expect(hosts()).toEqual([
      ['h2', 21, ['i3']],
      [undefined, undefined, ['i4']],
    ]);
    expect(index.lentHosts).toBe(1);
  });

  it('once, even if reported repeatedly', () => {
    const { instance, idle, found } = indexed();
    const twice = instance('i1');
    idle(twice, twice);
    expect(found()).toMatchObject([{ count: 1, byAgent: { a: ['i1'] } }]);
  });

  it('until they are no longer idle: then neither agent nor class remains', () => {
    const { index, instance, idle, found } = indexed();
    const [one, other, elsewhere] = [instance('i1'), instance('i2'), instance('i3', 'b')];
    idle(one, other, elsewhere);
    index.setAvailability(other, 'UP');
    index.setAvailability(other, 'UP');
    expect(found()).toMatchObject([{ count: 2, byAgent: { a: ['i1'], b: ['i3'] } }]);
    index.setAvailability(one, 'UP');
    expect(found()).toEqual([{ version: '1', count: 1, byAgent: { b: ['i3'] } }]);
    index.setAvailability(elsewhere, 'UP');
    expect(found()).toEqual([]);
  });
});

describe('the first agent', () => {
  it('is the one with the fewest busy instances of all classes', () => {
    const { index, instance, idle, order } = indexed();
    idle(instance('a1', 'a', 1), instance('b1', 'b', 2), instance('c1', 'c', 3));
    expect(order()).toEqual(['a', 'b', 'c']);
    index.changeBusy('a', 2);
    index.changeBusy('b', 1);
    expect(order()).toEqual(['c', 'b', 'a']);
    index.changeBusy('a', -2);
    expect(order()).toEqual(['a', 'c', 'b']);
  });

  it('is chosen correctly when it was busy before any of its instances was idle', () => {
    const { index, instance, idle, order } = indexed();
    index.changeBusy('a', 1);
    idle(instance('a1', 'a', 1), instance('b1', 'b', 2));
    expect(order()).toEqual(['b', 'a']);
  });

  it('is, among equally busy ones, the one with the longest idle instance', () => {
    const { index, instance, idle, order } = indexed();
    const longest = instance('a1', 'a', 1);
    idle(instance('c1', 'c', 3), instance('b1', 'b', 2), instance('a2', 'a', 4), longest);
    expect(order()).toEqual(['a', 'b', 'c']);
    index.setAvailability(longest, 'UP');
    expect(order()).toEqual(['b', 'c', 'a']);
  });

  it('is after any changes the same as if all were sorted again', () => {
    const { index, instance } = indexed();
    const all = Array.from({ length: 40 }, (_, at) => instance(`i${at}`, `agent ${at % 13}`));
    const busy = new Map<string, number>();
    const changeBusy = (agentId: string, change: number) => {
      busy.set(agentId, (busy.get(agentId) ?? 0) + change);
      index.changeBusy(agentId, change);
    };
    for (let step = 0; step < 400; step++) {
      const one = all[(step * 17) % 40] as IndexedInstance & { idleSinceMs: number };
      if (one.availability === 'IDLE') {
        changeBusy(one.agentId, 1);
        index.setAvailability(one, 'UP');
      } else {
        one.idleSinceMs = (step * 7919) % 101;
        if (busy.get(one.agentId)) changeBusy(one.agentId, -1);
        index.setAvailability(one, 'IDLE');
      }
      expectSorted(index, busy);
    }
  });
});

describe('the agents that have an instance of a class up are found', () => {
  it('whether it is idle or not, until their last one is no longer up', () => {
    const { index, instance, idle } = indexed();
    const [one, other, elsewhere] = [instance('i1'), instance('i2'), instance('i3', 'b')];
    const agents = () => [...index.agentsUp(one.instanceClass)];
    expect(agents()).toEqual([]);
    idle(one, other, elsewhere);
    index.setAvailability(one, 'UP');
    index.setAvailability(other, 'NONE');
    expect(agents()).toEqual(['a', 'b']);
    index.setAvailability(one, 'NONE');
    expect(agents()).toEqual(['b']);
    index.setAvailability(elsewhere, 'NONE');
    expect(agents()).toEqual([]);
    index.setAvailability(other, 'UP');
    expect(agents()).toEqual(['a']);
  });

  it('for that class only', () => {
    const { index, instance, idle } = indexed();
    const [one, other] = [instance('i1'), instance('i2', 'b', 0, '2')];
    idle(one, other);
    expect([...index.agentsUp(other.instanceClass)]).toEqual(['b']);
  });
});

describe('a class', () => {
  it('is the same object for all instances that are alike in version and labels', () => {
    const { index, instance } = indexed();
    expect(instance('i1').instanceClass).toBe(instance('i2', 'b').instanceClass);
    expect(instance('i3', 'a', 0, '2').instanceClass).not.toBe(instance('i4').instanceClass);
    expect(index.classes).toEqual([
      { version: '1', labels: ['gears'] },
      { version: '2', labels: ['gears'] },
    ]);
  });

  it('is known from its first instance to its last, and only these two raise the version', () => {
    const { index, instance } = indexed();
    const before = index.classesVersion;
    const { instanceClass } = instance('i1');
    const known = index.classesVersion;
    expect(known).toBeGreaterThan(before);
    instance('i2');
    index.remove(instanceClass);
    expect(index.classesVersion).toBe(known);
    expect(index.classes).toEqual([instanceClass]);
    index.remove(instanceClass);
    expect(index.classesVersion).toBeGreaterThan(known);
    expect(index.classes).toEqual([]);
  });
});
