// Data folders of quickstarts, with a record of the processes that work there: `--stop` ends those that `--keep` left
// running, and the next quickstart those of one that was killed.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endSlurmJobs } from './slurm.mjs';

const RECORD = 'quickstart.json';
const PREFIX = 'workbench-hub-quickstart-';
const STOP_TIMEOUT_MS = 20_000;
const POLL_MS = 100;

/** Makes the data folder of this quickstart. */
export async function newDataFolder() {
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await record(folder, { isKept: false, pids: [] });
  return folder;
}

/** Records the processes of this quickstart in its data folder; `isKept`: they are meant to stay. */
export async function record(dataFolder, { isKept, pids }) {
  const file = join(dataFolder, RECORD);
  await writeFile(`${file}.new`, JSON.stringify({ owner: process.pid, isKept, pids }));
  await rename(`${file}.new`, file);
}

/** Stops the processes of a data folder, the last started first, and removes the folder. */
export async function stopKept(dataFolder) {
  const found = await readRecord(dataFolder);
  if (found === undefined)
    throw new Error(`${dataFolder} is not the data folder of a quickstart that was left running.`);
  const [last, ...others] = found.pids.toReversed();
  if (last !== undefined) await stop(last, dataFolder);
  // With Slurm the last one is the hub, which would ask for others.
  await endSlurmJobs(dataFolder);
  for (const pid of others) await stop(pid, dataFolder);
  await rm(dataFolder, { recursive: true });
}

/** Stops and removes what killed quickstarts of this user have left; `onRemoved` gets each folder. */
export async function removeAbandoned(onRemoved) {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const found = await readRecord(folder);
    if (found === undefined || found.isKept || !(await isOurs(folder))) continue;
    if ((await commandLine(found.owner)).includes('quickstart')) continue;
    await stopKept(folder);
    onRemoved(folder);
  }
}

async function isOurs(folder) {
  const { uid } = await stat(folder);
  return process.getuid === undefined || uid === process.getuid();
}

/** Undefined for a folder without one. */
async function readRecord(dataFolder) {
  const text = await readFile(join(dataFolder, RECORD), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

/** SIGTERM, then SIGKILL after the timeout; a process id that now belongs to another program is left alone. */
async function stop(pid, dataFolder) {
  const isOfFolder = async () => (await commandLine(pid)).includes(dataFolder);
  if (!(await isOfFolder())) return;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  while (await isOfFolder()) {
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
