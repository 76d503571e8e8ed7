// The lock of a clone: one process at a time installs and builds. A file names its holder; the lock of a process that has
// ended is taken over.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const LOCK_FILE = '.prepare-lock';
const POLL_MS = 500;

/** Waits for the lock; returns its release. */
export async function takeCloneLock(root, log = console.log) {
  const lock = join(root, LOCK_FILE);
  const proposal = `${lock}.${process.pid}`;
  const mine = identify(process.pid);
  let told;
  writeFileSync(proposal, mine);
  try {
    while (!link(proposal, lock)) {
      const holder = read(lock);
      if (holder === undefined) continue; // released meanwhile
      if (isAlive(holder)) {
        if (holder !== told)
          log(`Waiting: process ${holder.split(' ')[0]} installs or builds in this clone ...`);
        told = holder;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      } else takeAway(lock, proposal, holder);
    }
  } finally {
    rmSync(proposal, { force: true });
  }
  const release = () => {
    if (read(lock) === mine) rmSync(lock, { force: true });
  };
  process.once('exit', release);
  return release;
}

/** Creates the lock with its content atomically; false when it exists. */
function link(proposal, lock) {
  try {
    linkSync(proposal, lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/** Removes a stale lock; another process may do the same, so the moved file must be the one that was judged. */
function takeAway(lock, proposal, holder) {
  const aside = `${proposal}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return;
  }
  if (read(aside) !== holder) link(aside, lock);
  rmSync(aside, { force: true });
}

function isAlive(holder) {
  const pid = Number(holder.split(' ')[0]);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === 'ESRCH') return false;
  }
  return identify(pid) === holder;
}

/** Process id and, on Linux, the start time: ids are used again. */
function identify(pid) {
  const stat = process.platform === 'linux' ? read(`/proc/${pid}/stat`) : undefined;
  const startTime = stat === undefined ? '' : stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return `${pid} ${startTime}`;
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
