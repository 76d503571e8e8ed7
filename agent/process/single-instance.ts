/** Lock of a data directory: a file that names its owner. The lock of a process that no longer exists is taken over at once;
 *  proper-lockfile would judge by the age of a file, and take over from an agent that was only suspended. */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE_MODE } from '@workbench-hub/shared/runtime/private-files';
import { unreadableFile } from '@workbench-hub/shared/runtime/read-own-file';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Platform } from './platform.js';

const LOCK_FILE = 'agent.lock';

/** Takes the lock and returns its release; throws {@link StartRefused} when another agent holds it. */
export function lockDataDir(dataDir: string, platform: Platform): () => void {
  const lock = join(dataDir, LOCK_FILE);
  const mine = platform.identify(process.pid) ?? `${process.pid}`;
  const proposal = `${lock}.${process.pid}`;
  writeFileSync(proposal, mine, { mode: PRIVATE_FILE_MODE });
  try {
    while (!link(proposal, lock)) takeAwayStale(lock, proposal, platform, dataDir);
  } finally {
    rmSync(proposal, { force: true });
  }
  return () => {
    if (read(lock) === mine) rmSync(lock, { force: true });
  };
}

/** Creates the lock with its content atomically; false when it exists. */
function link(proposal: string, lock: string): boolean {
  try {
    linkSync(proposal, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

function takeAwayStale(lock: string, proposal: string, platform: Platform, dataDir: string): void {
  const owner = read(lock);
  if (owner === undefined) return; // released meanwhile
  const pid = Number.parseInt(owner, 10);
  if (platform.identify(pid) === owner) {
    throw new StartRefused(
      `${dataDir} is in use by another agent (process ${pid}): stop it, or give this one a dataDir of its own`,
    );
  }
  // Another agent may take it over at the same time: the moved file must be the one that was judged.
  const aside = `${proposal}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return;
  }
  if (read(aside) !== owner) link(aside, lock);
  rmSync(aside, { force: true });
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unreadableFile(file, error);
    return undefined;
  }
}
