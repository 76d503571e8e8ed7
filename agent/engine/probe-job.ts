/** The job by which a version on trial shows that it works: from a file to the output of a script, on the runner inside. */
import { createHash } from 'node:crypto';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobCache } from '../core/ports/blob-cache.js';
import { type Program, ProgramLost, type Programs } from '../core/ports/programs.js';
import type { WorkingDirectory, Workspace } from '../core/ports/workspace.js';
import { describeEnd, secondsText } from '../core/program-end.js';

export interface ProbePorts {
  readonly programs: Programs;
  readonly cache: BlobCache;
  readonly workspace: Workspace;
  readonly runtime: Runtime;
}

/** No configured instance has this id, which has a character that ids do not have. */
const PROBE: InstanceProfile = { id: '~probe', version: '0', revision: '', labels: [] };
const COMMAND = ['workbench-runner'];
const LIMIT_MS = 20_000;
const STOP_LIMIT_MS = 2000;

const SCRIPT = Buffer.from(
  "println(require('node:crypto').createHash('sha256').update(process.env.nonce).digest('hex'));\n",
);

/** Runs the job; resolves with what its script has printed. Rejects with the reason why it did not end well. */
export async function runProbeJob(nonce: string, ports: ProbePorts): Promise<string> {
  const { cache, workspace, runtime } = ports;
  const script = await cached(SCRIPT, cache);
  try {
    const taskId = runtime.newId();
    const directory = await workspace.create({ taskId, attempt: 1, instanceId: PROBE.id });
    try {
      const path = await directory.placeScript(0, script.digest, '');
      return await runIn(directory, path, { taskId, nonce }, ports);
    } finally {
      await directory.discard();
    }
  } finally {
    cache.unpin(script.digest);
  }
}

/** Puts bytes into the cache, where they stay until `unpin`. */
async function cached(bytes: Buffer, cache: BlobCache): Promise<FileRef> {
  const file = { digest: createHash('sha256').update(bytes).digest('hex'), sizeBytes: bytes.length };
  while (!(await cache.pin(file))) await cache.put(file, only(bytes), 0);
  return file;
}

async function* only(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

interface Probe {
  readonly taskId: string;
  readonly nonce: string;
}

async function runIn(
  directory: WorkingDirectory,
  script: string,
  probe: Probe,
  { programs, runtime }: ProbePorts,
): Promise<string> {
  await directory.writeVariables({ nonce: probe.nonce });
  await directory.seal();
  let printed = '';
  const settings = {
    instance: PROBE,
    command: COMMAND,
    env: {},
    sandbox: null,
    limits: null,
    commonProcess: null,
  };
  const program = programs.start(settings, {
    onStarted: () => undefined,
    onOutput: (_, __, text) => {
      printed += text;
      return undefined;
    },
    onStderr: () => undefined,
  });
  const overdue = new AbortController();
  const limit = pause(runtime.timers, LIMIT_MS, overdue.signal).then(() => {
    throw new Error(`the probe job did not end within ${secondsText(LIMIT_MS)}`);
  });
  try {
    await Promise.race([limit, call(program, probe, script, directory.files)]);
    return printed;
  } finally {
    overdue.abort(new Error('the probe job has ended'));
    await limit.catch(() => undefined);
    await end(program, runtime);
  }
}

async function call(
  program: Program,
  { taskId, nonce }: Probe,
  script: string,
  workingDirectory: string,
): Promise<void> {
  try {
    await program.initialize();
    const { status, message } = await program.executeBatchJob({
      taskId,
      workingDirectory,
      scripts: [script],
      model: null,
      variables: { nonce },
      environment: { nonce },
    });
    if (status === 'ERROR') throw new Error(`the probe job failed: ${message}`);
  } catch (error) {
    if (!(error instanceof ProgramLost)) throw error;
    throw new Error(`the program of the probe job ${describeEnd(await program.ended)}`, { cause: error });
  }
}

async function end(program: Program, { timers }: Runtime): Promise<void> {
  program.shutdown();
  const kill = timers.after(STOP_LIMIT_MS, () => program.kill());
  await program.ended;
  kill.cancel();
}
