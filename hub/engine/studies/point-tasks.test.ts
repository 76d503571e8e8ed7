import { describe, expect, it } from 'vitest';
import type { OpenPoint } from '../../core/ports/studies.js';
import type { BegunPoint, PointEnd, Study, StudyDefinition } from '../../core/studies/study.js';
import { bundled, groupsOf, taskIdOf, taskOf } from './point-tasks.js';

const END: PointEnd = {
  outcome: 'REUSED',
  cause: null,
  message: null,
  values: [],
  source: 'task',
  startedAtMs: null,
  endedAtMs: 1,
};
const begun = (rest: Partial<BegunPoint> = {}): BegunPoint => ({
  variables: [1],
  bundle: null,
  notReused: null,
  end: null,
  ...rest,
});
const open = (number: number, bundle: number | null = null): OpenPoint => ({
  number,
  tries: 1,
  variables: [number / 2],
  bundle,
});
const bundlesOf = (points: readonly BegunPoint[], size: number) =>
  bundled(points, 11, { size, names: ['load'] }).map(({ bundle }) => bundle);

const definition: StudyDefinition = {
  ...{ classifiers: [], timeLimitS: null, values: [], success: [], stopAfterFailures: null },
  ...{ stopAfterS: null, stopWhen: [], reuse: false, bundle: true },
  job: {
    type: 'EXECUTE_BATCH_JOB',
    model: null,
    scripts: [],
    additionalFiles: [],
    variables: [{ key: 'material', value: 'steel' }],
  },
  variables: [{ name: 'load', kind: 'NUMBER', unit: null, lower: null, upper: null, scale: 'LINEAR' }],
};
const study: Study = {
  ...{ id: 'study', name: 'gear', note: null, creator: 'anna', state: 'RUNNING', message: null, definition },
  ...{ createdAtMs: 1_795_000_000_000, runningSinceMs: 1_795_000_000_000, endedAtMs: null },
  ...{ pointCount: 100, begunCount: 0, retryCount: 0, isOpen: false },
};
const options = { nowMs: 1_795_000_000_001, defaultVersion: null };

describe('points that begin', () => {
  it('are in bundles of the size, but for one that would be alone', () => {
    const points = Array.from({ length: 7 }, () => begun());
    expect(bundlesOf(points, 3)).toEqual([11, 11, 11, 14, 14, 14, null]);
    expect(bundlesOf(points, 1)).toEqual(points.map(() => null));
    expect(bundlesOf([], 3)).toEqual([]);
  });

  it('are in no bundle when they have their end', () => {
    const points = [begun({ end: END }), begun(), begun({ end: END }), begun(), begun()];
    expect(bundlesOf(points, 2)).toEqual([null, 12, null, 12, null]);
  });

  it('with many characters are in smaller bundles', () => {
    const points = Array.from({ length: 5 }, () => begun({ variables: ['x'.repeat(100_000)] }));
    expect(bundlesOf(points, 100)).toEqual([11, 11, 13, 13, null]);
    const names = Array.from({ length: 1000 }, (_, index) => `${'n'.repeat(100)}${index}`);
    const named = bundled(
      points.map(() => begun()),
      11,
      { size: 100, names },
    );
    expect(named.map(({ bundle }) => bundle)).toEqual([11, 11, 13, 13, null]);
  });
});

it('open points are grouped by their tasks', () => {
  const points = [open(1), open(2, 2), open(3, 2), open(4), open(5, 2)];
  expect(groupsOf(points).map((group) => group.map(({ number }) => number))).toEqual([[1], [2, 3, 5], [4]]);
});

describe('the task of points', () => {
  it('has an id that follows from the bundle, and is that of no single point', () => {
    const [first, second, single] = [open(2, 2), open(3, 2), open(2)].map((point) => taskIdOf(study, point));
    expect(first).toBe(second);
    expect(first).not.toBe(single);
    expect(first).not.toBe(taskIdOf(study, open(3, 3)));
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('of one point has its variables', () => {
    const task = taskOf(study, [open(2)], options);
    expect(task).toMatchObject({ name: 'gear #2', timeLimitS: null, study: { id: 'study', point: 2 } });
    expect(task.requirement).not.toHaveProperty('points');
    expect(task.job).toEqual({
      ...definition.job,
      variables: [
        { key: 'material', value: 'steel' },
        { key: 'load', value: '1' },
      ],
    });
  });

  it('of a bundle has those of each, and an instance must run bundles', () => {
    const task = taskOf(study, [open(2, 2), open(3, 2)], options);
    expect(task).toMatchObject({ name: 'gear #2 to #3', study: { id: 'study', point: 2 } });
    expect(task.requirement).toEqual({ version: null, labels: [], points: true });
    expect(task.job).toEqual({
      ...definition.job,
      points: [
        { number: 2, variables: [{ key: 'load', value: '1' }] },
        { number: 3, variables: [{ key: 'load', value: '1.5' }] },
      ],
    });
  });

  it('of a bundle has the time limit of each point, and of all with some time between', () => {
    const limited = { ...study, definition: { ...definition, timeLimitS: 2 } };
    const task = taskOf(limited, [open(2, 2), open(3, 2)], options);
    expect(task.timeLimitS).toBe(6);
    expect(task.job).toMatchObject({ pointLimitMs: 2000 });
    expect(taskOf(limited, [open(2)], options).timeLimitS).toBe(2);
    const long = { ...study, definition: { ...definition, timeLimitS: 1e9 } };
    expect(taskOf(long, [open(2, 2), open(3, 2)], options).timeLimitS).toBe(1e9);
  });
});
