/** 200 jobs at once on 4 instances of 2 agents, and the same with the hub killed in the middle. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const JOBS = 200;
/** Timeout of a test. */
const LIMIT_MS = 240_000;

/** Scripts by language, which write a file whose bytes follow from the job's number, and a line into a ledger that all jobs share.
 *  A shell starts far faster than Node.js. */
const SCRIPTS = {
  node: `
    const { appendFileSync, writeFileSync, readFileSync } = require('node:fs');
    appendFileSync(ledger, process.env.WORKBENCH_TASK_ID + '\\n');
    writeFileSync('out.txt', readFileSync('in.txt', 'utf8').repeat(Number(number)) + number);`,
  sh: `
    set -eu
    line=$(cat in.txt) left=$number
    printf '%s\\n' "$WORKBENCH_TASK_ID" >> "$ledger"
    while [ "$left" -gt 0 ]; do printf '%s\\n' "$line"; left=$((left - 1)); done > out.txt
    printf '%s' "$number" >> out.txt`,
} as const;
type Language = keyof typeof SCRIPTS;

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

function startAgents(folder: string, hub: HubProgram, language: Language): void {
  const command = ['workbench-runner', '--interpreter', language];
  for (const id of ['host-a', 'host-b']) {
    startAgent(folder, hub, id, { instances: [{ id: `${id}-sim`, version: '9.1.0', count: 2, command }] });
  }
}

async function handIn(hub: HubProgram, ledger: string, language: Language): Promise<string[]> {
  const client = restClient(hub.baseUrl);
  return Promise.all(
    Array.from({ length: JOBS }, (_, number) =>
      client.createBatchJob({
        name: `job ${number}`,
        classifiers: [{ type: 'VERSION', value: '9.*' }],
        inputScripts: [{ content: base64(SCRIPTS[language]) }],
        additionalFiles: [{ filename: 'in.txt', content: base64(`line of job ${number}\n`) }],
        variablesToInject: [
          { key: 'number', value: String(number) },
          { key: 'ledger', value: ledger },
        ],
      }),
    ),
  );
}

async function expectAllRight(hub: HubProgram, ids: readonly string[], ledger: string): Promise<void> {
  const client = restClient(hub.baseUrl);
  const results = await Promise.all(ids.map((id) => client.batchJobResult(id)));
  for (const [number, result] of results.entries()) {
    expect(result).toMatchObject({ status: 'FINISHED', batchExecutionStatus: 'OK' });
    expect(outputsOf(result)).toEqual({ 'out.txt': `line of job ${number}\n`.repeat(number) + number });
  }
  const used = new Set(results.map(({ executingWorkbench }) => executingWorkbench?.id));
  expect([...used].sort()).toEqual(['host-a-sim-1', 'host-a-sim-2', 'host-b-sim-1', 'host-b-sim-2']);
  expect(readFileSync(ledger, 'utf8').trim().split('\n').sort()).toEqual([...ids].sort());
}

describe('200 jobs at once on 4 instances of 2 agents', () => {
  it('finish with the right output, each once', { timeout: LIMIT_MS }, async () => {
    const hub = await startHub(folder.path);
    startAgents(folder.path, hub, 'node');
    const ledger = join(folder.path, 'ledger');
    await expectAllRight(hub, await handIn(hub, ledger, 'node'), ledger);
  });

  it('finish, each once, although the hub is killed meanwhile', { timeout: LIMIT_MS }, async () => {
    const hub = await startHub(folder.path);
    startAgents(folder.path, hub, 'sh');
    const ledger = join(folder.path, 'ledger');
    const ids = await handIn(hub, ledger, 'sh');
    // Only the whole test has a timeout: a busy machine may take long for a few of them.
    await eventually(() => readFileSync(ledger, 'utf8').split('\n').length > 40, LIMIT_MS);
    await hub.kill();
    expect(readFileSync(ledger, 'utf8').split('\n').length).toBeLessThan(JOBS);
    const again = await startHub(folder.path, {}, Number(new URL(hub.baseUrl).port));
    await expectAllRight(again, ids, ledger);
  });
});
