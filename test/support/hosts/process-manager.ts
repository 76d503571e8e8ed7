/** A workload manager whose jobs are processes of this machine, by three commands. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SCRIPT = join(ROOT, 'test/hosts/fixtures/process-manager.sh');
const LONG_MS = 120_000;

export interface ProcessManager {
  /** Folder with its jobs; a file `away` in it lets it answer nothing. */
  readonly folder: string;
  /** Recipe of a hub at this address, with one instance for gears; `rest` replaces keys, also of the agent. The folder `shared` must be there. */
  recipe(hubUrl: string, rest?: { readonly agent?: object }): object;
  /** Names of the jobs that it ever had. */
  jobs(): Promise<string[]>;
  isOver(job: string): Promise<boolean>;
  /** From now on it says that so much is left of the time of a job that runs; the job itself goes on. */
  shorten(job: string, remainingS: number): Promise<void>;
  /** Ends jobs that a failed test has left. */
  endAll(): Promise<void>;
}

/** @param folder Folder of the running test, for all files. */
export function processManager(folder: string): ProcessManager {
  const own = join(folder, 'manager');
  const command = (verb: string) => ['sh', SCRIPT, own, verb];
  const jobs = () => readdir(join(own, 'jobs')).catch(() => []);
  const isOver = (job: string) =>
    readFile(join(own, 'jobs', job, 'code')).then(
      () => true,
      () => false,
    );
  return {
    folder: own,
    recipe: (hubUrl, { agent = {}, ...rest } = {}) => ({
      name: 'gears',
      manager: {
        kind: 'command',
        submit: command('submit'),
        list: command('list'),
        cancel: command('cancel'),
      },
      folder: join(folder, 'shared'),
      scratch: folder,
      wallTime: '30m',
      idleTimeout: '2s',
      agent: {
        command: [process.execPath, join(ROOT, 'agent/bin/workbench-agent.js')],
        hub: hubUrl.replace('http', 'ws'),
        instances: [{ id: 'gear', version: '9.1', labels: ['gears'] }],
        ...agent,
      },
      ...rest,
    }),
    jobs,
    isOver,
    shorten: async (job, remainingS) => {
      const startedS = Number(await readFile(join(own, 'jobs', job, 'started'), 'utf8'));
      const wallTimeS = Math.floor(Date.now() / 1000) - startedS + remainingS;
      await writeFile(join(own, 'jobs', job, 'wall'), `${wallTimeS}\n`);
    },
    endAll: async () => {
      for (const job of await jobs()) {
        const pid = Number(await readFile(join(own, 'jobs', job, 'pid'), 'utf8').catch(() => '0'));
        if (pid <= 0 || (await isOver(job))) continue;
        process.kill(pid, 'SIGTERM');
        await eventually(() => isOver(job), LONG_MS);
      }
    },
  };
}
