/** Main module of the simulator's thread: loads MuJoCo, waits for its one job, runs it, and is ended from outside. */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import loadMujoco, { type MainModule } from '@mujoco/mujoco';
import { showHostFiles, type VirtualFileSystem } from './host-file-system.js';
import { InstabilityWatch } from './instability.js';
import { type LoadedModel, loadModel, ModelRefused } from './model.js';
import { outputSender } from './output-channel.js';
import { relativePathsBeginAt } from './relative-paths.js';
import { runScript } from './script.js';
import { defineScriptGlobals, redirectProcess } from './script-globals.js';
import type { JobMessage, ThreadData, ThreadMessage } from './thread-messages.js';
import { type WasmImports, type WasmInstance, type WasmModule, webAssembly } from './web-assembly.js';

const port = parentPort;
if (!port) throw new Error('thread-main.js is started by workbench-mujoco as a thread');
const { simulator, inFlight } = workerData as ThreadData;
const post = (message: ThreadMessage): void => port.postMessage(message);
const send = outputSender(inFlight, (stream, text) => post({ kind: 'output', stream, text }));

const mujoco: MainModule = await loadMujoco({
  print: (line: string) => send('stdout', `${line}\n`),
  printErr: (line: string) => send('stderr', `${line}\n`),
  instantiateWasm(imports: WasmImports, take: (instance: WasmInstance, module: WasmModule) => void) {
    const instance = new webAssembly.Instance(simulator, imports);
    take(instance, simulator);
    return instance.exports;
  },
});
post({ kind: 'ready' });
// Without a listener the port does not keep the thread alive, which reveals the end of a script.
const [{ job }] = (await once(port, 'message')) as [JobMessage];
post(await runJob());

async function runJob(): Promise<ThreadMessage> {
  Object.assign(process.env, job.environment);
  redirectProcess(send);
  relativePathsBeginAt(() => job.workingDirectory);
  showHostFiles(mujoco.FS as unknown as VirtualFileSystem, job.workingDirectory);
  let loaded: LoadedModel | undefined;
  try {
    if (job.model !== null) loaded = loadModel(mujoco, job.model);
  } catch (error) {
    if (error instanceof ModelRefused) return { kind: 'failed', message: error.message };
    throw error;
  }
  defineScriptGlobals(send, mujoco, loaded, job);
  const count = job.scripts.length;
  const instability = loaded && new InstabilityWatch(mujoco, loaded.data);
  for (const [index, script] of job.scripts.entries()) {
    const failure = await runScript(script, index + 1, job.workingDirectory);
    send('stderr', instability?.report() ?? '');
    if (failure) {
      send('stderr', failure.details);
      return { kind: 'ended', status: 'ERROR', message: `script ${index + 1} of ${count} ${failure.reason}` };
    }
  }
  return { kind: 'ended', status: 'OK' };
}
