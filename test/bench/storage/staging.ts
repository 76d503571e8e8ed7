/** The file from the hub to an agent as a model, and back as an output; and one model that a hundred jobs begin with. */
import { join } from 'node:path';
import { base64, restClient } from '../../support/interface/rest-client.js';
import { type Program, startAgent } from '../../support/programs/programs.js';
import { peakRssMib } from '../machine.js';
import type { Sample } from '../workload.js';
import { writeSource } from './source.js';
import { pace, type StorageStage, type StorageWay } from './storage-way.js';
import { uploadSource } from './uploads.js';

const AGENT_MEMORY_LIMIT_MIB = 200;

/** Its output is one byte longer than the model, so that the hub does not have it. */
const LENGTHEN = `
const { appendFileSync, copyFileSync } = require('node:fs');
copyFileSync(process.env.WORKBENCH_MODEL, 'longer.bin');
appendFileSync('longer.bin', 'x');
`;

/** At full size. */
const RUNS = 100;
/** The working copies of all runs together are still written: hence a smaller model. */
const RUNS_MODEL_PART = 1 / 32;
const AGENTS = ['host-a', 'host-b'];
const INSTANCES_EACH = 2;

const FETCHED = 'downloaded a blob';
const SENT = 'uploaded a blob';

export const staging: StorageWay = {
  name: 'staging',
  measure: async (stage) => {
    const { sizeBytes } = stage;
    await uploadSource(stage, 'model.bin');
    const agent = agentOf(stage, 'host', 1);
    const began = performance.now();
    await runJob(stage, LENGTHEN);
    const s = (performance.now() - began) / 1000;
    return [
      pace('hub to agent', sizeBytes, msOf(agent, FETCHED, sizeBytes)),
      pace('agent to hub', sizeBytes, msOf(agent, SENT, sizeBytes)),
      { name: 'job with such a model and such an output, in all', value: s, unit: 's' },
      memoryOf('staging: memory of the agent', [agent]),
    ];
  },
};

export const hundredRuns: StorageWay = {
  name: 'runs of one model',
  measure: async (stage) => {
    const modelBytes = Math.ceil(stage.sizeBytes * RUNS_MODEL_PART);
    const model = join(stage.folder, 'model');
    await writeSource(model, modelBytes, 1);
    await uploadSource({ hub: stage.hub, source: model }, 'model.bin');
    const agents = AGENTS.map((id) => agentOf(stage, id, INSTANCES_EACH));
    const began = performance.now();
    const client = restClient(stage.hub.baseUrl);
    const runs = Math.max(Math.ceil(RUNS * Math.min(stage.scale, 1)), AGENTS.length * INSTANCES_EACH * 2);
    await Promise.all(
      Array.from({ length: runs }, async () => {
        const { status } = await client.batchJobResult(await client.createBatchJob(jobOf('1')));
        if (status !== 'FINISHED') throw new Error(`a job ended ${status}`);
      }),
    );
    const s = (performance.now() - began) / 1000;
    const moved = agents.map(
      (agent) =>
        transfersOf(agent, FETCHED, modelBytes).reduce((sum, { bytes }) => sum + bytes, 0) / modelBytes,
    );
    return [
      { name: 'runs of one model', value: runs, unit: 'times' },
      { name: 'runs of one model, in all', value: s, unit: 's' },
      {
        name: 'runs of one model: moved to an agent, of the model',
        value: Math.max(...moved),
        unit: 'times',
        limit: 1.01,
      },
      memoryOf('runs of one model: memory of an agent', agents),
    ];
  },
};

function agentOf({ folder, hub }: StorageStage, id: string, count: number): Program {
  return startAgent(folder, hub, id, {
    instances: [{ id: `${id}-sim`, version: '1', count }],
    limits: { fileCache: '40GiB', taskOutputs: '40GiB', outputFile: '40GiB' },
    // Bytes moved, and the duration.
    log: { level: 'debug' },
  });
}

/** A job with the uploaded model. */
function jobOf(script: string) {
  return {
    inputScripts: [{ content: base64(script) }],
    inputModelReference: { type: 'INPUT_STORAGE', parameters: [{ key: 'name', value: 'model.bin' }] },
  };
}

/** Runs such a job; rejects unless it has finished. Its result is not asked for: it is too large for a text. */
async function runJob({ hub }: StorageStage, script: string): Promise<void> {
  const client = restClient(hub.baseUrl);
  const id = await client.createBatchJob(jobOf(script));
  for (;;) {
    const { status } = (await client.call(`/api/2.0/workbench/task/${id}`)).json() as { status: string };
    if (status === 'FINISHED') return;
    if (status === 'FAILED') throw new Error(`a job failed: ${await client.log(id)}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

const LOOK_EVERY_MS = 50;

interface Transfer {
  readonly bytes: number;
  readonly ms: number;
}

/** Bytes that an agent logs as transferred, of blobs of about this size. */
function transfersOf({ lines }: Program, what: string, sizeBytes: number): Transfer[] {
  return lines
    .filter(({ msg, sizeBytes: size }) => msg === what && Math.abs(Number(size) - sizeBytes) <= 1)
    .map(({ sizeBytes: size, fromByte, ms }) => ({ bytes: Number(size) - Number(fromByte), ms: Number(ms) }));
}

function msOf(agent: Program, what: string, sizeBytes: number): number {
  const [transfer, ...others] = transfersOf(agent, what, sizeBytes);
  if (!transfer || others.length > 0) throw new Error(`not once: ${what}`);
  return transfer.ms;
}

function memoryOf(name: string, agents: readonly Program[]): Sample {
  const value = Math.max(...agents.map(({ process }) => peakRssMib(process.pid ?? 0)));
  return { name, value, unit: 'MiB', limit: AGENT_MEMORY_LIMIT_MIB };
}
