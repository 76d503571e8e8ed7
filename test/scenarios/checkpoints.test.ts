/** A job goes on from its checkpoint on another host, after the agent of the first was stopped. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, startAgent, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** A solver that counts from its checkpoint on, saves when it is told to end, and finishes only if it has begun from a checkpoint. */
const SOLVER = `
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const restart = join(process.env.WORKBENCH_CHECKPOINT, 'step');
const begun = existsSync(restart) ? Number(readFileSync(restart, 'utf8')) : 0;
println('begins at step ' + begun);
if (begun > 0) writeFileSync('result.txt', String(begun + 1));
else {
  const solving = setInterval(() => {}, 1000);
  process.on('SIGTERM', () => {
    writeFileSync(restart, '1200');
    clearInterval(solving);
  });
}
`;

it('a stopped agent hands over the checkpoint of its job, which finishes on another host at the cost of no attempt', async () => {
  const hub = await startHub(folder.path);
  const client = restClient(hub.baseUrl);
  const instances = [{ id: 'sim', version: '9.1.0', labels: ['gears'] }];
  const first = startAgent(folder.path, hub, 'first', { instances });
  const id = await client.createBatchJob({ inputScripts: [{ content: base64(SOLVER) }] });
  await eventually(async () => (await client.log(id)).includes('begins at step 0'));
  await first.stop();
  startAgent(folder.path, hub, 'second', { instances: [{ ...instances[0], id: 'other' }] });
  const result = await client.batchJobResult(id);
  expect(result).toMatchObject({ status: 'FINISHED' });
  expect(outputsOf(result)).toEqual({ 'result.txt': '1201' });
  const log = await client.log(id);
  expect(log).toContain('restored the checkpoint of an earlier attempt to WORKBENCH_CHECKPOINT: 1 file\n');
  expect(log).toContain('begins at step 1200');
  const task = (await (await fetch(`${hub.baseUrl}/api/x/tasks/${id}`)).json()) as object;
  expect(task).toMatchObject({
    attempt: 2,
    attempts: [
      {
        attempt: 1,
        outcome: 'RETURN',
        reason: 'the agent is stopping; the next attempt gets its checkpoint (1 file)',
      },
      { attempt: 2 },
    ],
  });
});
