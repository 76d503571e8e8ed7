/** `npm run quickstart -- --slurm`, on a clone that is already installed and built. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { hasSlurmPrograms } from '../support/hosts/slurm-cluster.js';
import { restClient } from '../support/interface/rest-client.js';
import { isAlive, pidsIn, run, savedFolder } from '../support/programs/quickstart.js';

const LONG_MS = 120_000;

/** Ids of the processes that work in a folder. */
function pidsAt(folder: string): number[] {
  const ids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  return ids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(folder);
    } catch {
      return false; // It has ended meanwhile.
    }
  });
}

describe.skipIf(!hasSlurmPrograms())('the quickstart with Slurm', () => {
  it('has hosts come for a study and go after it, and --stop ends those that came later', {
    timeout: 400_000,
  }, async () => {
    const { stdout } = await run('--slurm', '--keep');
    const data = /^Data and logs are in (.+)$/m.exec(stdout)?.[1] ?? '';
    const address = /^Hub: {4}(\S+),/m.exec(stdout)?.[1] ?? '';
    try {
      const table = readFileSync(join(savedFolder(stdout), 'study.csv'), 'utf8')
        .trim()
        .split('\n');
      await rm(savedFolder(stdout), { recursive: true });
      expect(table).toHaveLength(1 + 30);
      const accelerations = table.slice(1).map((row) => Number(row.split(',')[1]));
      expect(accelerations).toEqual(accelerations.toSorted((a, b) => a - b));
      expect(stdout).toMatch(/^Host: {3}slurm-\w+ is asked for: \d+ tasks? waits? for version 3\.\*/m);
      expect(stdout).toMatch(/^Host: {3}slurm-\w+ has joined the hub, as job \d+ of Slurm \([\d.]+ s\)$/m);
      expect(stdout).toMatch(/^Host: {3}slurm-\w+ is gone \([\d.]+ s\)$/m);
      expect(stdout).toMatch(/^ {8}30 points FINISHED, [\d.]+ s after it was handed in$/m);
      expect(stdout).toContain('Slurm:  has no job any more: squeue is empty\n');
      const { createSimulateWork, call } = restClient(address);
      const id = await createSimulateWork({ duration: 600 });
      await eventually(async () => {
        const { status } = (await call(`/api/x/tasks/${id}`)).json() as { status: string };
        return status === 'RUNNING';
      }, LONG_MS);
    } finally {
      await run('--stop', data);
    }
    expect(existsSync(data)).toBe(false);
    await eventually(() => !pidsIn(stdout).some(isAlive));
    await eventually(() => pidsAt(data).length === 0, LONG_MS);
  });
});
