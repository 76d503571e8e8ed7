/** Jobs that the client library creates again from their tasks. */
import { Hub } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { base64 } from '../support/interface/api.js';

const CREATE = '/api/2.0/workbench/task/execute-batch-job/create';
const JOB = { inputScripts: [{ content: base64('1') }] };

hubForAllTests();

/** Details of a task, and of the one that is created from it. */
async function rerun(job: object) {
  const { status, body, text } = await api.post(CREATE, { ...JOB, ...job });
  expect(status, text).toBe(201);
  const client = new Hub({ url: hub.address });
  const id = body['id'] as string;
  const again = await client.rerun(id);
  return { before: await client.task(id).details(), after: await again.details() };
}

it('a job that runs again asks for all labels', async () => {
  const labels = (value: string) => ({ type: 'LABLES', value });
  const { after } = await rerun({ classifiers: [labels('gpu,fast'), labels('licensed')] });
  expect(after.classifiers).toEqual([labels('gpu,fast,licensed')]);
});

it.each([true, false])('a model of the host is copied as before: %s', async (copied) => {
  const parameters = [
    { key: 'pathToFile', value: '/models/gear.inp' },
    { key: 'copyFileToWorkingDirectory', value: String(copied) },
  ];
  const { after } = await rerun({ inputModelReference: { type: 'LOCAL_FILESYSTEM', parameters } });
  expect(after.hostModel).toEqual({ path: '/models/gear.inp', copied });
});

it.each(['XML', 'MJCF'])('a model of the type %s keeps it', async (type) => {
  const { before, after } = await rerun({ inputModel: { type, content: base64('m') } });
  expect(after.inputs).toEqual(before.inputs);
});
