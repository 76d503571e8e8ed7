/** Time of the machine itself to copy a file durably, and to compute its digest. */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Sample } from '../workload.js';
import { pace } from './storage-way.js';

const run = promisify(execFile);

export interface MachinePace {
  readonly copy: Sample;
  readonly digest: Sample;
}

export async function measureMachine(
  source: string,
  sizeBytes: number,
  folder: string,
): Promise<MachinePace> {
  const copy = join(folder, 'copy');
  const copyMs = await timeOf('dd', [`if=${source}`, `of=${copy}`, 'bs=1M', 'conv=fsync', 'status=none']);
  const digestMs = await timeOf('sha256sum', [copy]);
  await rm(copy);
  return {
    copy: pace('plain copy, synced', sizeBytes, copyMs),
    digest: pace('sha256sum', sizeBytes, digestMs),
  };
}

async function timeOf(program: string, args: readonly string[]): Promise<number> {
  const began = performance.now();
  await run(program, args);
  return performance.now() - began;
}
