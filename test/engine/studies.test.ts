/** The driver of studies, when it is not told what happens. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { StudyDefinition } from '@workbench-hub/hub/core/studies/study';
import { describe, expect, it, vi } from 'vitest';
import { engine, engineForEachTest } from '../support/engine/engine-for-each-test.js';

engineForEachTest();

const DEFINITION: StudyDefinition = {
  ...{ classifiers: [], timeLimitS: null, values: [], success: [] },
  ...{ stopAfterFailures: null, stopAfterS: null, stopWhen: [], reuse: false, bundle: false },
  job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [], additionalFiles: [], variables: [] },
  variables: [{ name: 'load', kind: 'NUMBER', unit: null, lower: null, upper: null, scale: 'LINEAR' }],
};

/** Creates a study of one point; returns its id and that of the task of the point. */
async function createStudy() {
  const { studies, runtime } = engine;
  const checked = { plan: { kind: 'LIST', points: [{ load: 1 }] }, pointCount: 1 } as const;
  const request = { name: 's', note: null, creator: null, notify: null, key: undefined };
  const { counted } = await studies.create({ ...request, definition: DEFINITION, checked });
  await runtime.advance(100);
  const { id } = counted.study;
  const { points } = await studies.points(id, { after: 0, limit: 9, outcomes: [] });
  return { id, taskId: points[0]?.taskId ?? '' };
}

describe('a study', () => {
  it('goes on ten seconds after the end of a task of which no signal told', async () => {
    const { id, taskId } = await createStudy();
    expect(await engine.tasks.get(taskId)).toMatchObject({ status: 'WAITING' });
    await engine.store.queue.cancel([taskId], ['WAITING'], engine.runtime.clock.nowMs());
    await engine.runtime.advance(9000);
    expect(await engine.studies.get(id)).toMatchObject({ study: { state: 'RUNNING' }, counts: {} });
    await engine.runtime.advance(1000);
    expect(await engine.studies.get(id)).toMatchObject({
      study: { state: 'FINISHED' },
      counts: { CANCELED: 1 },
    });
  });

  it('that is paused before its open point has a task still gives it one', async () => {
    const { queue } = engine.store;
    const insert = vi.spyOn(queue, 'insertOnce').mockRejectedValueOnce(new Error('statement timeout'));
    const { id, taskId } = await createStudy();
    expect(insert).toHaveBeenCalledOnce();
    await expect(engine.tasks.get(taskId)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    await engine.studies.change(id, 'pause', ANYBODY);
    await engine.runtime.advance(10_000);
    expect(await engine.studies.get(id)).toMatchObject({ study: { state: 'PAUSED' } });
    expect(await engine.tasks.get(taskId)).toMatchObject({ status: 'WAITING' });
  });
});

describe('the sweep', () => {
  it('removes the studies after one that cannot be removed, and that one when it can', async () => {
    const first = await createStudy();
    const second = await createStudy();
    for (const { taskId } of [first, second])
      await engine.store.queue.cancel([taskId], ['WAITING'], engine.runtime.clock.nowMs());
    for (const { id } of [first, second])
      while ((await engine.studies.get(id)).study.state !== 'FINISHED') await engine.runtime.advance(1000);
    engine.runtime.skip(31 * 86_400_000);
    vi.spyOn(engine.store.studies, 'remove').mockRejectedValueOnce(new Error('statement timeout'));
    await engine.sweep();
    expect(await engine.studies.get(first.id)).toMatchObject({ study: { state: 'FINISHED' } });
    await expect(engine.studies.get(second.id)).rejects.toMatchObject({ code: 'STUDY_NOT_FOUND' });
    expect(engine.log).toContainEqual(expect.objectContaining({ swept: `study ${first.id}` }));
    await engine.sweep();
    await expect(engine.studies.get(first.id)).rejects.toMatchObject({ code: 'STUDY_NOT_FOUND' });
  });
});
