/** The main job: scripts with model, additional files and variables, on real processes from REST to script and back. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let hub: HubProgram;
let agent: Program;
let client: ReturnType<typeof restClient>;

beforeEach(async () => {
  folder = await temporaryFolder();
  hub = await startHub(folder.path);
  client = restClient(hub.baseUrl);
  agent = startAgent(folder.path, hub, 'host', {
    instances: [
      { id: 'sim', version: '9.1.0', revision: '4711', labels: ['Gears', 'linux'] },
      {
        id: 'py',
        version: '3.11',
        labels: ['python'],
        command: ['workbench-runner', '--interpreter', 'python3'],
      },
    ],
  });
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

describe('an execute-batch-job task', () => {
  it('runs two scripts with model, additional file and variable, and returns their output files', async () => {
    const id = await client.createBatchJob({
      name: 'two scripts',
      classifiers: [
        { type: 'version', value: '9.*' },
        { type: 'LABELS', value: 'gears' },
      ],
      inputModel: { type: 'WBPZ', content: base64('the model') },
      inputScripts: [
        {
          content: base64(`
            const fs = require('node:fs');
            fs.mkdirSync('out/deep', { recursive: true });
            fs.writeFileSync('out/deep/model.txt', fs.readFileSync(process.env.WORKBENCH_MODEL, 'utf8') + ' at ' + speed);
            println('first', speed);`),
        },
        {
          content: base64(`
            import { helper } from './lib/helper.mjs';
            import { readFile, writeFile } from 'node:fs/promises';
            const variables = JSON.parse(await readFile(process.env.WORKBENCH_VARIABLES, 'utf8'));
            await writeFile('result.txt', helper(await readFile('out/deep/model.txt', 'utf8')) + JSON.stringify(variables));
            console.log('second');`),
        },
      ],
      additionalFiles: [
        { filename: 'lib/helper.mjs', content: base64('export const helper = (text) => "[" + text + "]";') },
        { filename: 'untouched.bin', content: Buffer.from([0, 255, 10, 13]).toString('base64') },
      ],
      variablesToInject: [{ key: 'speed', value: '1500' }],
    });

    const result = await client.batchJobResult(id);

    expect(result).toMatchObject({
      id,
      status: 'FINISHED',
      batchExecutionStatus: 'OK',
      executingWorkbench: { id: 'sim', version: '9.1.0', revision: '4711' },
    });
    expect(outputsOf(result)).toEqual({
      'out/deep/model.txt': 'the model at 1500',
      'result.txt': '[the model at 1500]{"speed":"1500"}',
    });
    expect(await client.log(id)).toBe('first 1500\nsecond\n');
  });

  it('runs a script of another interpreter by the instance, or by its first line', async () => {
    const id = await client.createBatchJob({
      classifiers: [{ type: 'LABLES', value: 'PYTHON' }],
      inputScripts: [
        {
          content: base64('import os\nprint("python", os.environ["size"])\nopen("a.txt", "w").write("a")\n'),
        },
        { content: base64('#!/bin/sh\necho shell "$size" && cat a.txt > b.txt\n') },
      ],
      variablesToInject: [{ key: 'size', value: 'XL' }],
    });
    const result = await client.batchJobResult(id);
    expect(result.status).toBe('FINISHED');
    expect(outputsOf(result)).toEqual({ 'a.txt': 'a', 'b.txt': 'a' });
    expect(await client.log(id)).toBe('python XL\nshell XL\n');
  });

  it('is FAILED with its output files when a script fails, and runs no later script', async () => {
    const id = await client.createBatchJob({
      classifiers: [{ type: 'VERSION', value: '9.1.0' }],
      inputScripts: [
        { content: base64(`require('node:fs').writeFileSync('kept.txt', 'kept'); process.exit(7);`) },
        { content: base64(`require('node:fs').writeFileSync('never.txt', '');`) },
      ],
    });
    const result = await client.batchJobResult(id);
    expect(result).toMatchObject({ status: 'FAILED', batchExecutionStatus: 'ERROR' });
    expect(result.message).toMatch(/script 1 of 2 .*7/);
    expect(outputsOf(result)).toEqual({ 'kept.txt': 'kept' });
  });

  it('shows its log while it runs, refuses a plain cancel, and is canceled by force', async () => {
    const id = await client.createBatchJob({
      classifiers: [{ type: 'VERSION', value: '9.1.0' }],
      inputScripts: [{ content: base64(`println('begun'); setInterval(() => {}, 1000);`) }],
    });
    await eventually(async () => (await client.log(id)).includes('begun'));

    const refused = await client.cancel(id, false);
    expect(refused.status).toBe(409);
    expect((refused.json() as { message: string }).message).toMatch(/RUNNING.*force=true/);

    expect((await client.cancel(id, true)).status).toBe(204);
    expect((await client.batchJobResult(id)).status).toBe('CANCELED');
    // The instance is free again for the next one.
    const next = await client.createBatchJob({
      classifiers: [{ type: 'VERSION', value: '9.1.0' }],
      inputScripts: [{ content: base64(`println('next')`) }],
    });
    expect((await client.batchJobResult(next)).status).toBe('FINISHED');
  });

  it('is FAILED when its time limit is over', async () => {
    const id = await client.createBatchJob({
      timeLimit: 1,
      classifiers: [{ type: 'VERSION', value: '9.1.0' }],
      inputScripts: [{ content: base64('for (;;) {}') }],
    });
    const result = await client.batchJobResult(id);
    expect(result.status).toBe('FAILED');
    expect(result.message).toMatch(/time limit/);
    expect(result).not.toHaveProperty('batchExecutionStatus');
  });

  it('is FAILED with the name of the setting when its model lies outside the agent`s folders', async () => {
    const id = await client.createBatchJob({
      classifiers: [{ type: 'VERSION', value: '9.1.0' }],
      inputModelReference: {
        type: 'LOCAL_FILESYSTEM',
        parameters: [{ key: 'pathToFile', value: '/etc/hostname' }],
      },
      inputScripts: [{ content: base64('') }],
    });
    const result = await client.batchJobResult(id);
    expect(result.status).toBe('FAILED');
    expect(result.message).toMatch(/fileRoots/);
  });
});

describe('hub and agent', () => {
  it('stop when asked, with exit code 0 and no process left', async () => {
    const id = await client.createSimulateWork({
      duration: 0,
      classifiers: [{ type: 'VERSION', value: '9.*' }],
    });
    await client.call(`/api/2.0/workbench/task/simulate-work/${id}/result?timeout=30`);
    expect(await agent.stop()).toBe(0);
    expect(await hub.stop()).toBe(0);
  });
});
