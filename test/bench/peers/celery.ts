/** Celery with a process for each slot, on Redis that is synced before each reply. */
import { ServerProgram } from '../subjects/server-program.js';
import { type PeerServer, peerSubject } from './peer.js';
import { hasModules, PYTHON_FOLDER, python } from './python.js';
import { redisMissing, startRedis } from './redis.js';

const PACKAGES = 'redis-server python3-celery python3-redis';

export const celery = peerSubject({
  name: 'celery',
  peer: 'celery',
  variant: 'prefork',
  // Its worker is a program of Python.
  worker: false,
  missing: () =>
    redisMissing() === undefined && hasModules('celery', 'redis')
      ? undefined
      : `Celery is not installed (apt-get install ${PACKAGES})`,
  startServer,
});

async function startServer(folder: string, slots: number): Promise<PeerServer> {
  const { programs, port } = await startRedis(folder, 'always');
  const options = ['--pool', 'prefork', '--concurrency', `${slots}`, '--loglevel', 'WARNING'];
  const args = ['-m', 'celery', '--app', 'celery_worker', '--workdir', PYTHON_FOLDER, 'worker', ...options];
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
