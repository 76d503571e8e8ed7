/** Celery with a process for each slot, on Redis that is synced before each reply. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { installed, ServerProgram } from '../subjects/server-program.js';
import { type PeerServer, peerSubject } from './peer.js';
import { redisMissing, startRedis } from './redis.js';

const PACKAGES = 'redis-server python3-celery python3-redis';

// This file runs from its source in tests, and compiled in the benchmark.
const FOLDER = fileURLToPath(new URL('.', import.meta.url)).replace(/test[/\\]dist[/\\]bench/, 'test/bench');

export const celery = peerSubject({
  name: 'celery',
  peer: 'celery',
  variant: 'prefork',
  // Its worker is a program of Python.
  worker: false,
  missing: () =>
    redisMissing() === undefined && hasCelery()
      ? undefined
      : `Celery is not installed (apt-get install ${PACKAGES})`,
  startServer,
});

function python(): string | undefined {
  return installed('python3', ['/usr/bin']);
}

function hasCelery(): boolean {
  const program = python();
  if (program === undefined) return false;
  try {
    execFileSync(program, ['-c', 'import celery, redis'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function startServer(folder: string, slots: number): Promise<PeerServer> {
  const { programs, port } = await startRedis(folder, 'always');
  const options = ['--pool', 'prefork', '--concurrency', `${slots}`, '--loglevel', 'WARNING'];
  const args = ['-m', 'celery', '--app', 'celery_worker', '--workdir', FOLDER, 'worker', ...options];
  const worker = new ServerProgram('worker', python() ?? '', args, {
    folder,
    env: { REDIS_URL: `redis://127.0.0.1:${port}/0`, PYTHONDONTWRITEBYTECODE: '1' },
  });
  try {
    await worker.until(() => worker.output().includes('worker is ready'));
  } catch (error) {
    await worker.stop();
    for (const program of Object.values(programs)) await program.stop();
    throw error;
  }
  return { programs: { ...programs, worker }, port };
}
