/** Answers that are none: a command that prints a page of a login, say, and ends well. Nothing may be concluded from them. */

import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it } from 'vitest';
import type { AllocationSettings, ManagerSettings } from '../core/hosts/host-recipe.js';
import { openWorkloadManager } from './open-workload-manager.js';

const via = ['sh', '-c', 'cat >/dev/null; echo "<html>Please log in again.</html>"', 'ssh'];
const MANAGERS: readonly ManagerSettings[] = [
  { kind: 'slurm', via, options: [] },
  { kind: 'grid-engine', via, options: [] },
  { kind: 'htcondor', via, options: [] },
  { kind: 'command', via, submit: ['submit'], list: ['list'], cancel: ['cancel'], check: null },
];
const ALLOCATION: AllocationSettings = {
  ...{
    folder: '/shared',
    scratch: null,
    agentCommand: ['agent'],
    agentConfigOf: () => ({}),
    wallTimeMs: 60_000,
  },
};

it.each(MANAGERS)('nonsense in place of an answer of $kind says nothing about a job', async (manager) => {
  const opened = openWorkloadManager({
    ...{ manager, allocation: ALLOCATION, environment: process.env, runtime: systemRuntime },
  });
  const nothing = { fault: 'UNAVAILABLE', message: expect.stringContaining('Please log in again') };
  await expect(opened.submit({ name: 'gears-1', credential: 'secret' })).rejects.toMatchObject(nothing);
  await expect(opened.jobs(['gears-1'])).rejects.toMatchObject(nothing);
});
