import { expect, it } from 'vitest';
import { EarlierResults } from '../../core/studies/reuse/earlier-results.js';
import type { Study } from '../../core/studies/study.js';
import { PlannedStudy } from './planned-study.js';

const STUDY: Study = {
  ...{ id: 'study', name: 'bearing', note: null, creator: null, state: 'RUNNING', message: null },
  ...{ createdAtMs: 1, runningSinceMs: 1, endedAtMs: null },
  ...{ pointCount: 9, begunCount: 0, retryCount: 0, isOpen: true },
  definition: {
    ...{ classifiers: [], timeLimitS: null, variables: [], values: [], success: [] },
    ...{ stopAfterFailures: null, stopAfterS: null, stopWhen: [], reuse: true, bundle: false },
    job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [], additionalFiles: [], variables: [] },
  },
};

/** An open study, and the number of times that it has read the earlier results. */
function openStudy() {
  const planned = new PlannedStudy(STUDY, { partWith: async () => undefined });
  let readCount = 0;
  const read = async () => {
    readCount++;
    return new EarlierResults({ names: [], results: [], bundled: [], missOfAll: '' });
  };
  const knows = () =>
    new Promise<void>((resolve, reject) => {
      if (planned.knowsEarlier({ read, onRead: resolve, onFault: reject })) resolve();
    });
  return { planned, knows, readCount: () => readCount };
}

it('keeps earlier results for a minute in which no point begins, and reads them again for later ones', async () => {
  const { planned, knows, readCount } = openStudy();
  await knows();
  planned.allBegun();
  planned.rests(1000);
  planned.rests(60_999);
  expect(planned.earlier).toBeDefined();
  planned.rests(61_000);
  expect(planned.earlier).toBeUndefined();
  await knows();
  expect([planned.earlier !== undefined, readCount()]).toEqual([true, 2]);
});

it('keeps them as long as points begin within the minute', async () => {
  const { planned, knows, readCount } = openStudy();
  for (let atMs = 0; atMs < 300_000; atMs += 50_000) {
    await knows();
    planned.rests(atMs);
  }
  expect([planned.earlier !== undefined, readCount()]).toEqual([true, 1]);
});
