import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { JobKind } from '@workbench-hub/shared/domain/instance';
import { describe, expect, it } from 'vitest';
import type { CountedClass } from '../../core/wait-reason.js';
import { InstanceCounts } from '../instances/instance-counts.js';
import { WaitReasons } from './wait-reasons.js';

const NOW = {
  type: 'EXECUTE_BATCH_JOB',
  dispatching: true,
  returns: [],
  avoided: [],
  ending: [],
  recipes: [],
  nowMs: 0,
} as const;
const needs = (...labels: string[]): Requirement => ({ version: null, labels });

function known(classes: CountedClass[]) {
  let scans = 0;
  const instances = {
    classesVersion: 1,
    countsVersion: 1,
    get countedClasses() {
      scans++;
      return classes;
    },
    findAgent: () => undefined,
  };
  return { instances, scans: () => scans };
}

function counted(label: string, busy: number, runs?: JobKind): CountedClass & { counts: { busy: number } } {
  return {
    version: '9',
    runs,
    carried: new Set([label]),
    counts: { idle: 0, busy, kept: 0, ending: 0, down: 0, unreachable: 0, drained: 0 },
  };
}

describe('reasons for waiting', () => {
  it('scan the classes once for each requirement, until the classes change', () => {
    const gears = counted('gears', 1);
    const { instances, scans } = known([gears, counted('cfd', 3)]);
    const reasons = new WaitReasons(instances);
    for (let at = 0; at < 100; at++) {
      expect(reasons.of(needs('gears'), NOW).message).toBe('1 fitting instance is busy.');
    }
    gears.counts.busy = 2;
    instances.countsVersion++;
    expect(reasons.of(needs('gears'), NOW).message).toBe('2 fitting instances are busy.');
    expect(reasons.of(needs(), NOW).message).toBe('5 fitting instances are busy.');
    expect(scans()).toBe(2);
    instances.classesVersion++;
    reasons.of(needs('gears'), NOW);
    expect(scans()).toBe(3);
  });

  it('keep the latest thousand requirements only', () => {
    const { instances, scans } = known([counted('gears', 1)]);
    const reasons = new WaitReasons(instances);
    for (let at = 0; at <= 1000; at++) reasons.of(needs(`label-${at}`), NOW);
    reasons.of(needs('label-1000'), NOW);
    expect(scans()).toBe(1001);
    reasons.of(needs('label-0'), NOW);
    expect(scans()).toBe(1002);
  });
});

describe('fitting instances of different kinds', () => {
  const models = { models: ['MJCF'], scripts: ['JavaScript'] };
  const python = { scripts: ['Python'] };
  const classes = [
    counted('a', 1, models),
    counted('b', 2, python),
    counted('c', 1, models),
    counted('d', 9),
  ];
  const reasons = new WaitReasons(known(classes).instances);

  it('are named for a batch job without labels, but for those that do not say what they run', () => {
    const { message, facts } = reasons.of(needs(), NOW);
    expect(message).toBe(
      '13 fitting instances are busy. The fitting instances are of different kinds: 2 run models of type MJCF and scripts in ' +
        'JavaScript; 2 run models of any type and scripts in Python. Ask for a label that only the right ones have.',
    );
    expect(facts.kinds).toEqual([
      { runs: models, instances: 2 },
      { runs: python, instances: 2 },
    ]);
  });

  it.each([
    [3, 1, ['JavaScript', 'Python']],
    [1, 3, ['Python', 'JavaScript']],
    [2, 2, ['JavaScript', 'Python']],
  ])('with %i and %i instances are named in the order %j', (ofModels, ofPython, order) => {
    for (const given of [
      [counted('a', ofModels, models), counted('b', ofPython, python)],
      [counted('b', ofPython, python), counted('a', ofModels, models)],
    ]) {
      const { kinds } = new WaitReasons(known(given).instances).of(needs(), NOW).facts;
      expect(kinds.map(({ runs }) => runs.scripts?.[0])).toEqual(order);
    }
  });

  it('make no difference to simulated work, and are none of those that are down', () => {
    expect(reasons.of(needs(), { ...NOW, type: 'SIMULATE_WORK' }).facts.kinds).toEqual([]);
    const down = { ...counted('b', 0, python), counts: { ...counted('b', 0).counts, down: 3 } };
    const { instances } = known([counted('a', 1, models), down]);
    expect(new WaitReasons(instances).of(needs(), NOW).message).toBe('1 fitting instance is busy.');
  });

  it('do not fit a model that they do not read', () => {
    const inp = { ...needs(), modelType: 'INP' };
    expect(reasons.of(inp, NOW).facts).toMatchObject({ kinds: [], satisfyingAll: 11 });
    const { instances } = known([counted('a', 1, models)]);
    const { verdict, message, facts } = new WaitReasons(instances).of(inp, NOW);
    expect(verdict).toBe('NEVER');
    expect(message).toBe(
      'No known instance fits: none offers models of type "INP"; it waits until one does.',
    );
    expect(facts.unsatisfied).toEqual([{ type: 'MODEL', value: 'INP' }]);
  });

  it('of which none runs points in bundles leave a bundle waiting', () => {
    const { instances } = known([counted('a', 2, models)]);
    const bundle = { ...needs(), points: true } as const;
    const { verdict, message, facts } = new WaitReasons(instances).of(bundle, NOW);
    expect(verdict).toBe('NEVER');
    expect(message).toBe('No known instance fits: none offers bundles of points; it waits until one does.');
    expect(facts.unsatisfied).toEqual([{ type: 'POINTS', value: 'bundles' }]);
    const both = [counted('a', 2, models), counted('a', 1, { ...models, points: true })];
    const { facts: found } = new WaitReasons(known(both).instances).of(bundle, NOW);
    expect(found).toMatchObject({ satisfyingAll: 1, kinds: [] });
  });

  it('that differ in whether they run bundles only are of one kind', () => {
    const both = [counted('a', 2, models), counted('a', 1, { ...models, points: true })];
    expect(new WaitReasons(known(both).instances).of(needs(), NOW).facts.kinds).toEqual([]);
  });

  it('are chosen by a label', () => {
    const both = [counted('gears', 1, models), counted('gears', 1, python)];
    const { facts } = new WaitReasons(known(both).instances).of(needs('gears'), NOW);
    expect(facts.kinds).toEqual([]);
  });
});

describe('counts of instances', () => {
  it('follow each instance through its states, and forget a class with its last instance', () => {
    const counts = new InstanceCounts();
    const instanceClass = { version: '9', labels: ['Gears'] };
    const [first, second] = [{ instanceClass }, { instanceClass }];
    counts.set(first, 'idle');
    counts.set(second, 'unreachable');
    counts.set(first, 'busy');
    counts.set(first, 'busy');
    const [only] = counts.classes;
    expect(only).toEqual({
      version: '9',
      carried: new Set(['gears']),
      counts: { idle: 0, busy: 1, kept: 0, ending: 0, down: 0, unreachable: 1, drained: 0 },
    });
    counts.set(first, null);
    counts.set(second, null);
    expect([...counts.classes]).toEqual([]);
  });
});
