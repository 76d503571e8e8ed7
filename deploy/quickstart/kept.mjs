// Programs that `--keep` left running: their process ids lie in the data folder, so that `--stop` can end them.
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const RECORD = 'quickstart.json';
const STOP_TIMEOUT_MS = 20_000;
const POLL_MS = 100;

/** Records the processes of a quickstart in its data folder. */
export async function recordKept(dataFolder, pids) {
  await writeFile(join(dataFolder, RECORD), JSON.stringify({ pids }));
}

/** Stops the processes of a data folder, the last started first, and removes the folder. */
export async function stopKept(dataFolder) {
  const record = await readFile(join(dataFolder, RECORD), 'utf8').catch(() => {
    throw new Error(`${dataFolder} is not the data folder of a quickstart that was left running.`);
  });
  for (const pid of JSON.parse(record).pids.toReversed()) await stop(pid, dataFolder);
  await rm(dataFolder, { recursive: true });
}

/** SIGTERM, then SIGKILL after the timeout; a process id that now belongs to another program is left alone. */
async function stop(pid, dataFolder) {
  const isOurs = async () => (await commandLine(pid)).includes(dataFolder);
  if (!(await isOurs())) return;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (await isOurs()) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
    await delay(POLL_MS);
  }
}

/** Command line of a process; empty when there is none. */
async function commandLine(pid) {
  if (process.platform === 'linux') return await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const ps = promisify(execFile)('ps', ['-o', 'args=', '-p', String(pid)]);
  return await ps.then(({ stdout }) => stdout).catch(() => '');
}
