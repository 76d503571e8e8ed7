/** `npm run quickstart -- --sites`, on a clone that is already installed and built. */
import { rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { isAlive, pidsIn, run, savedFolder } from '../support/programs/quickstart.js';

it('runs a job of headquarters at one site while the other is cut off', { timeout: 300_000 }, async () => {
  const { stdout } = await run('--sites');
  const pids = pidsIn(stdout);
  // Headquarters, and a hub and an agent at each site.
  expect(new Set(pids).size).toBe(1 + 2 + 2);
  await rm(savedFolder(stdout), { recursive: true });
  expect(stdout).toContain('Lent:   berlin:mujoco, paris:mujoco, as headquarters lists them\n');
  expect(stdout).toMatch(/^ +its instance is UNKNOWN at headquarters, [\d.]+ s later$/m);
  expect(stdout).toMatch(/^ +\| 100 % /m);
  expect(stdout).toMatch(/^ +FINISHED on instance berlin:mujoco \(version \S+\), scripts OK$/m);
  expect(stdout).toMatch(/^ +\d+ bytes {2}motion\.csv$/m);
  expect(stdout).toMatch(/^Back: {3}paris has joined again, [\d.]+ s after kill -CONT$/m);
  await eventually(() => !pids.some(isAlive));
});
