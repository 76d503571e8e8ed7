/**
 * Temporary files of a run in memory: most tests wait for the disk, which has to confirm what each hub of a test writes. The folder is
 * used where the system has enough memory and programs may be started from it; `TMPDIR` takes its place.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Short, since the path of a socket has at most 107 bytes. */
const PREFIX = 'wbt-';
/** Bytes that must be free in the folder; a whole run uses a quarter of it at a time, and the databases of tests as much again. */
const ENOUGH_BYTES = 4 * 2 ** 30;
const ENOUGH_FREE_MEMORY_BYTES = 2 * ENOUGH_BYTES;

/** Called by Vitest before the tests; returns what it calls after them. */
export function setup(): (() => void) | undefined {
  if (process.env['TMPDIR'] !== undefined || !existsSync(MEMORY)) return undefined;
  removeThoseOfKilledRuns();
  if (!hasEnough()) return undefined;
  const folder = join(MEMORY, `${PREFIX}${process.pid}`);
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  mkdirSync(folder);
  // Some tests run programs as other users.
  chmodSync(folder, 0o1777);
  if (!mayStartPrograms(folder)) {
    remove();
    return undefined;
  }
  process.env['TMPDIR'] = folder;
  return remove;
}

function hasEnough(): boolean {
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH_BYTES && freemem() >= ENOUGH_FREE_MEMORY_BYTES;
}

function mayStartPrograms(folder: string): boolean {
  const program = join(folder, 'program');
  try {
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
    execFileSync(program);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(program, { force: true });
  }
}

function removeThoseOfKilledRuns(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : 0;
    if (!(pid > 0) || isAlive(pid)) continue;
    try {
      rmSync(join(MEMORY, name), { recursive: true, force: true });
    } catch {
      // Those of another user stay.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
