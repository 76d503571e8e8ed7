/** The own realm of the simulator's thread as the place for a job's scripts: they have all of Node.js. */
import loadMujoco, { type MainModule } from '@mujoco/mujoco';
import { showHostFiles, type VirtualFileSystem } from './host-file-system.js';
import { OpenHostFiles, shownFolders, simulatorPath } from './host-files.js';
import type { JobPlace } from './job.js';
import type { Send } from './output-channel.js';
import { runScript } from './script.js';
import { defineScriptGlobals, redirectProcess } from './script-globals.js';
import { type WasmImports, type WasmInstance, type WasmModule, webAssembly } from './web-assembly.js';

export async function openThreadRealm(simulator: WasmModule, send: Send): Promise<JobPlace> {
  const mujoco: MainModule = await loadMujoco({
    print: (line: string) => send('stdout', `${line}\n`),
    printErr: (line: string) => send('stderr', `${line}\n`),
    instantiateWasm(imports: WasmImports, take: (instance: WasmInstance, module: WasmModule) => void) {
      const instance = new webAssembly.Instance(simulator, imports);
      take(instance, simulator);
      return instance.exports;
    },
  });
  const files = new OpenHostFiles();
  const virtual = mujoco.FS as unknown as VirtualFileSystem;
  let isPrepared = false;
  /** Variables of the environment with paths of the latest job, which are of no other. */
  let paths: readonly string[] = [];

  return {
    mujoco,
    begin({ environment, workingDirectory }) {
      for (const name of paths) delete process.env[name];
      paths = Object.keys(environment).filter((name) => name.startsWith('WORKBENCH_'));
      Object.assign(process.env, environment);
      if (isPrepared) return virtual.chdir(simulatorPath(workingDirectory));
      isPrepared = true;
      redirectProcess(send);
      showHostFiles(virtual, files, shownFolders(workingDirectory));
    },
    defineGlobals: (job, loaded) => defineScriptGlobals(send, mujoco, loaded, job),
    runScript,
    end(loaded) {
      files.closeAll();
      if (loaded) deleteIfLeft(loaded.data, loaded.model);
    },
  };
}

/** Deletes objects of the simulator that the scripts have left. */
function deleteIfLeft(...objects: { delete(): void; isDeleted(): boolean }[]): void {
  for (const object of objects) {
    try {
      if (!object.isDeleted()) object.delete();
    } catch {
      // A script has broken it; the thread is not kept then (see thread-main.ts).
    }
  }
}
