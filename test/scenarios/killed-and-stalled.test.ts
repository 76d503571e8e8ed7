/** Programs that are killed, stopped for a while, or hang: what was acknowledged ends once, and no process stays behind. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linux } from '@workbench-hub/agent/process/linux';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let ledger: string;
const stopped = new Set<Program>();

beforeEach(async () => {
  folder = await temporaryFolder();
  ledger = join(folder.path, 'ledger');
});

afterEach(async () => {
  for (const program of stopped) program.process.kill('SIGCONT');
  stopped.clear();
  await endPrograms();
  await folder.remove();
});

const lines = () => (existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : []);

function job(script: string, rest: object = {}) {
  return {
    inputScripts: [{ content: base64(script) }],
    variablesToInject: [
      { key: 'ledger', value: ledger },
      { key: 'go', value: join(folder.path, 'go') },
    ],
    ...rest,
  };
}

/** Writes its task id into the ledger, and ends when the file `go` exists. */
const WAITS = `
const fs = require('node:fs');
fs.appendFileSync(ledger, process.env.WORKBENCH_TASK_ID + '\\n');
const timer = setInterval(() => { if (fs.existsSync(go)) clearInterval(timer); }, 20);
`;

function stop(program: Program): void {
  stopped.add(program);
  program.process.kill('SIGSTOP');
}

function goOn(program: Program): void {
  stopped.delete(program);
  program.process.kill('SIGCONT');
}

const agentStatus = async (hub: HubProgram, id: string) =>
  (
    (await restClient(hub.baseUrl).call(`/api/2.0/workbench/node/agent/${id}`)).json() as {
      status: string;
    }
  ).status;

describe.runIf(process.platform === 'linux')('an agent that is killed (SIGKILL)', () => {
  /** Runs forever the first time, and leaves a process in its own session. */
  const HANGS_ONCE = `
  const fs = require('node:fs');
  const stray = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  fs.appendFileSync(ledger, [process.pid, process.ppid, stray.pid].join(' ') + '\\n');
  if (fs.readFileSync(ledger, 'utf8').trim().split('\\n').length === 1) setInterval(() => undefined, 1000);
  else stray.unref();
  `;

  it('ends the orphans of its instances at its next start, and their tasks run again', async () => {
    const hub = await startHub(folder.path);
    const deaf = fileURLToPath(new URL('../../agent/process/fixtures/ignores-shutdown.mjs', import.meta.url));
    const config = {
      instances: [
        { id: 'runner', version: '1' },
        { id: 'deaf', version: '2', command: [process.execPath, deaf] },
      ],
    };
    const agent = startAgent(folder.path, hub, 'host', config);
    const started = await agent.logged(
      (line) => line['instance'] === 'deaf' && /^started process/.test(String(line.msg)),
    );
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob(
      job(HANGS_ONCE, { classifiers: [{ type: 'VERSION', value: '1' }] }),
    );
    await eventually(() => lines().length === 1);
    const pids = [...String(lines()[0]).split(' '), String(started.msg).split(/[ :]/)[2]].map(Number);
    expect(pids).toHaveLength(4);
    const before = pids.map((pid) => linux.identify(pid));
    expect(before).not.toContain(undefined);

    await agent.kill();
    const again = startAgent(folder.path, hub, 'host', config);
    await again.logged(({ msg }) => /^ended processes of an earlier run of this agent/.test(String(msg)));
    expect(pids.map((pid, at) => linux.identify(pid) === before[at])).toEqual([false, false, false, false]);

    expect(await client.batchJobResult(id)).toMatchObject({ status: 'FINISHED' });
    expect(lines()).toHaveLength(2);
  });
});

describe('a stall longer than agents.unreachableAfter and shorter than the lease', () => {
  const CONFIG = { agents: { unreachableAfter: '1s', leaseTimeout: '5m' } };

  it.each(['agent', 'hub'] as const)('of the %s does not affect an attempt', async (which) => {
    const hub = await startHub(folder.path, CONFIG);
    const agent = startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1' }] });
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob(job(WAITS));
    await eventually(() => lines().length === 1);
    if (which === 'agent') {
      stop(agent);
      await eventually(async () => (await agentStatus(hub, 'host')) === 'DOWN');
      writeFileSync(join(folder.path, 'go'), '');
      goOn(agent);
    } else {
      stop(hub);
      await agent.logged(({ msg }) => /connection to the hub has ended/.test(String(msg)));
      writeFileSync(join(folder.path, 'go'), '');
      goOn(hub);
    }
    expect(await client.batchJobResult(id)).toMatchObject({ status: 'FINISHED' });
    expect(lines()).toEqual([id]);
    expect(hub.lines.filter(({ msg }) => /task requeued/.test(String(msg)))).toEqual([]);
  });
});

describe.skipIf(process.platform === 'win32')('an instance that hangs while alive', () => {
  /** Stops the program: it no longer responds, and none of its processes has ended. */
  const HANGS = "process.kill(process.ppid, 'SIGSTOP');";

  it('is ended by the time limit of its task, or by a cancel by force, and takes the next task', async () => {
    const hub = await startHub(folder.path);
    startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1', cancelTimeout: '1s' }] });
    const client = restClient(hub.baseUrl);
    const limited = await client.createBatchJob(job(HANGS, { timeLimit: 2 }));
    const unlimited = await client.createBatchJob(
      job(`require('node:fs').writeFileSync(ledger, 'x'); ${HANGS}`),
    );
    const next = await client.createBatchJob(job(''));

    const result = await client.batchJobResult(limited);
    expect(result).toMatchObject({ status: 'FAILED', message: 'time limit of 2 s exceeded' });
    expect(result).not.toHaveProperty('batchExecutionStatus');
    await eventually(() => lines().length === 1);
    expect((await client.cancel(unlimited, true)).status).toBe(204);
    expect(await client.batchJobResult(unlimited)).toMatchObject({ status: 'CANCELED' });
    expect(await client.batchJobResult(next)).toMatchObject({ status: 'FINISHED' });
  });
});
