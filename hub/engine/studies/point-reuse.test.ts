import { describe, expect, it } from 'vitest';
import { runningTaskWith } from '../../core/fixtures/task.js';
import type { EarlierResult, FoundResults } from '../../core/studies/reuse/earlier-results.js';
import type { Study } from '../../core/studies/study.js';
import { type PointReuseOptions, reuses } from './point-reuse.js';

const RULE = {
  name: 'stress',
  unit: null,
  kind: 'NUMBER',
  source: { kind: 'FILE', path: 'result.json' },
  reader: { kind: 'JSON_PATH', path: '$.stress' },
} as const;

const STUDY: Study = {
  ...{ id: 'study', name: 'bearing', note: null, creator: null, state: 'RUNNING', message: null },
  ...{
    createdAtMs: 1,
    runningSinceMs: 1,
    endedAtMs: null,
    pointCount: 9,
    begunCount: 0,
    retryCount: 0,
    isOpen: false,
  },
  definition: {
    ...{
      classifiers: [],
      timeLimitS: null,
      variables: [],
      success: [],
      stopAfterFailures: null,
      stopAfterS: null,
      stopWhen: [],
      reuse: true,
      bundle: false,
    },
    job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [], additionalFiles: [], variables: [] },
    values: [RULE],
  },
};

const READ: EarlierResult['values'] = [{ kind: 'NUMBER', value: 7 }];
const LOST = 'f'.repeat(64);

const foundOf = (...results: readonly EarlierResult[]): FoundResults => ({ results });
const resultOf = (taskId: string, values: EarlierResult['values'] = READ) => ({
  taskId,
  variables: [],
  values,
});

/** A hub with these finished tasks, all with an output that it has lost. */
function hubWith(...taskIds: readonly string[]) {
  const looked: string[] = [];
  const options: PointReuseOptions = {
    defaultVersion: null,
    buildsFor: () => [{ version: '9', revision: '1' }],
    invalidations: { list: async () => [] },
    archive: {
      find: async (id) => {
        looked.push(id);
        return taskIds.includes(id) ? runningTaskWith({ id, status: 'FINISHED', endedAtMs: 3 }) : undefined;
      },
      filesOf: async () => ({
        outputFiles: [{ path: 'result.json', digest: LOST, sizeBytes: 1 }],
        log: null,
      }),
    },
    files: { find: async () => undefined },
    outputValues: { readValues: () => Promise.reject(new Error('there is nothing to read')) },
  };
  return { options, looked };
}

describe('an earlier result', () => {
  it('of which the hub has lost an output is not reused, but the next one is', async () => {
    const { options } = hubWith('a', 'b');
    const found = [foundOf(resultOf('a', [])), foundOf(resultOf('a', []), resultOf('b'))];
    expect(await reuses(STUDY, found, 9, options)).toEqual([
      { miss: 'the result of task a cannot be reused: the hub has lost result.json' },
      { source: expect.objectContaining({ id: 'b' }), values: READ },
    ]);
  });

  it('is looked at no longer when more points have none than may get a task', async () => {
    const { options, looked } = hubWith();
    const found = Array.from({ length: 500 }, (_, index) => foundOf(resultOf(`${index}`)));
    expect((await reuses(STUDY, found, 4, options)).length).toBeLessThan(500);
    expect(looked.length).toBeLessThanOrEqual(100);
  });

  it('of many points is read in part only, as other studies wait', async () => {
    const { options, looked } = hubWith('a');
    const found = Array.from({ length: 500 }, () => foundOf(resultOf('a', [])));
    expect((await reuses(STUDY, found, 500, options)).length).toBe(64);
    expect(looked).toHaveLength(64);
  });
});
