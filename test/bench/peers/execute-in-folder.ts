import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadTask } from '../load/dialects.js';
import { execute } from './role.js';

const SCRIPT = Buffer.from('#!/bin/true\n').toString('base64');

/**
 * Work of one task with the files that an agent handles for a batch job: a working directory with the decoded script, a
 * log, the search for outputs, a synced report, and the removal of all of it.
 */
export async function executeInFolder(kind: LoadTask['kind']): Promise<{ ok: boolean; log: string }> {
  if (kind === 'NOOP') return { ...(await execute(kind)), log: '' };
  const folder = await mkdtemp(join(tmpdir(), 'bench-job-'));
  try {
    const script = join(folder, 'script-1');
    await writeFile(script, Buffer.from(SCRIPT, 'base64'), { mode: 0o700 });
    const logFile = join(folder, 'task.log');
    const ok = await runScript(script, folder, logFile);
    const outputs = await digestsOf(folder, ['script-1', 'task.log']);
    const log = await readFile(logFile, 'utf8');
    await writeSynced(join(folder, 'report.json'), JSON.stringify({ ok, outputs, log }));
    return { ok, log };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runScript(script: string, cwd: string, logFile: string): Promise<boolean> {
  const log = await open(logFile, 'w');
  try {
    const child = spawn(script, { cwd, stdio: ['ignore', log.fd, log.fd] });
    const [exitCode] = (await once(child, 'exit')) as [number | null];
    return exitCode === 0;
  } finally {
    await log.close();
  }
}

/** SHA-256 of each new file. */
async function digestsOf(folder: string, known: readonly string[]): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const name of await readdir(folder, { recursive: true })) {
    if (known.includes(name)) continue;
    digests[name] = createHash('sha256')
      .update(await readFile(join(folder, name)))
      .digest('hex');
  }
  return digests;
}

/** Writes a file that a loss of power leaves whole or absent. */
async function writeSynced(path: string, text: string): Promise<void> {
  const partial = await open(`${path}.partial`, 'w');
  try {
    await partial.writeFile(text);
    await partial.sync();
  } finally {
    await partial.close();
  }
  await rename(`${path}.partial`, path);
}
