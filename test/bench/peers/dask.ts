/**
 * Dask with a scheduler and a process for each slot. It is not durable: the scheduler has all tasks in its memory only, so that
 * this peer promises less than the others. Its protocol is for Python, so a client in Python stands between it and the front.
 */
import { join } from 'node:path';
import { freePort, listens, ServerProgram } from '../subjects/server-program.js';
import { type PeerServer, peerSubject } from './peer.js';
import { hasModules, PYTHON_FOLDER, python } from './python.js';

export const dask = peerSubject({
  name: 'dask',
  peer: 'dask',
  variant: 'processes',
  // Its workers are programs of Python.
  worker: false,
  missing: () =>
    hasModules('distributed') ? undefined : 'Dask is not installed (apt-get install python3-distributed)',
  startServer,
});

async function startServer(folder: string, slots: number): Promise<PeerServer> {
  const schedulerPort = await freePort();
  const port = await freePort();
  const address = `tcp://127.0.0.1:${schedulerPort}`;
  const programs: Record<string, ServerProgram> = {};
  const start = (name: string, args: readonly string[]) => {
    const program = new ServerProgram(name, python() ?? '', args, {
      folder,
      env: {
        PYTHONDONTWRITEBYTECODE: '1',
        DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD: 'forkserver',
      },
    });
    programs[name] = program;
    return program;
  };
  const module = (name: string, ...args: readonly string[]) => [
    '-m',
    `distributed.cli.dask_${name}`,
    ...args,
    '--no-dashboard',
  ];
  try {
    const own = ['--host', '127.0.0.1', '--port', `${schedulerPort}`];
    const scheduler = start('scheduler', module('scheduler', ...own));
    await scheduler.until(() => listens(schedulerPort));
    const processes = ['--nworkers', `${slots}`, '--nthreads', '1', '--memory-limit', '0'];
    const worker = start('worker', module('worker', address, ...processes, '--local-directory', folder));
    await worker.until(() => worker.output().split('Starting established connection').length > slots);
    const client = start('client', [join(PYTHON_FOLDER, 'dask_client.py'), address, `${port}`]);
    await client.until(() => listens(port));
    return { programs, port };
  } catch (error) {
    for (const program of Object.values(programs).reverse()) await program.stop();
    throw error;
  }
}
