import type { api } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { hostsInWords } from './hosts.js';

const AT = '2026-11-21T06:53:00.000';
const SHOWN = '2026-11-21 06:53:00';
const REASON = '1 task waits for version 9.1';

function allocation(id: string, fields: Partial<api.HostAllocation> = {}): api.HostAllocation {
  return { id, state: 'QUEUED', reason: REASON, wantedAt: AT, ...fields };
}

function recipe(fields: Partial<api.HostRecipe> = {}): api.HostRecipe {
  return {
    ...{ name: 'gears', manager: 'slurm', state: 'READY', failedStarts: 0, instances: 2, wallTimeS: 14_400 },
    ...{ maxAllocations: 20, maxQueued: 4, hostHours: 0, reservedHostHours: 0, allocations: [], ...fields },
  };
}

/** The cells of each line, without the time that has passed since then. */
const cellsOf = (recipes: readonly api.HostRecipe[]) =>
  hostsInWords(recipes)
    .split('\n')
    .map((line) => line.replaceAll(/ \([^)]*\)/g, '').split(/ {2,}/));

it('shows each recipe with its bounds, and the host-hours that ran and are reserved', () => {
  const allocations = [
    allocation('gears-1', { state: 'JOINED', jobId: '7', startedAt: AT, joinedAt: AT, endsAt: AT }),
    allocation('gears-2', { jobId: '8', message: 'Priority' }),
  ];
  const bound = recipe({ hostHours: 12.04, reservedHostHours: 7.96, maxHostHours: 400, allocations });
  expect(cellsOf([bound, recipe({ name: 'belts', hostHours: 3.5 })])).toEqual([
    ['RECIPE', 'IS', 'ALLOCATIONS', 'NOT STARTED', 'HOURS IN 24 H', 'RESERVED'],
    ['gears', 'READY', '2 of 20', '1 of 4', '12 of 400', '8'],
    ['belts', 'READY', '0 of 20', '0 of 4', '3.5', '0'],
    [''],
    ['ALLOCATION', 'RECIPE', 'STATE', 'JOB', 'WANTED', 'ENDS', 'REASON', 'CAUSE', 'MESSAGE'],
    ['gears-1', 'gears', 'JOINED', '7', SHOWN, SHOWN, REASON, '-', '-'],
    ['gears-2', 'gears', 'QUEUED', '8', SHOWN, '-', REASON, '-', 'Priority'],
  ]);
});

it('shows failed starts with their jobs, and the next try', () => {
  const failed = allocation('gears-1', {
    ...{ state: 'ENDED', jobId: '9', cause: 'ENDED_EARLY', endedAt: AT, message: 'exit code 1' },
  });
  const asked = allocation('gears-2', { state: 'ENDED', cause: 'ASKED', endedAt: AT });
  const fields = { failedStarts: 3, nextTryAt: AT, message: 'exit code 1', allocations: [failed, asked] };
  expect(cellsOf([recipe({ state: 'FAILING', ...fields })])).toEqual([
    [
      'RECIPE',
      'IS',
      'ALLOCATIONS',
      'NOT STARTED',
      'HOURS IN 24 H',
      'RESERVED',
      'FAILED',
      'NEXT TRY',
      'MESSAGE',
    ],
    ['gears', 'FAILING', '0 of 20', '0 of 4', '0', '0', '3', SHOWN, 'exit code 1'],
    [''],
    ['ALLOCATION', 'RECIPE', 'STATE', 'JOB', 'WANTED', 'ENDS', 'REASON', 'CAUSE', 'MESSAGE'],
    ['gears-1', 'gears', 'FAILED', '9', SHOWN, SHOWN, REASON, 'ENDED_EARLY', 'exit code 1'],
    ['gears-2', 'gears', 'ENDED', '-', SHOWN, SHOWN, REASON, 'ASKED', '-'],
  ]);
});

it('says who has paused a recipe, and since when', () => {
  expect(cellsOf([recipe({ state: 'PAUSED', pausedBy: 'anna', pausedAt: AT })])).toEqual([
    ['RECIPE', 'IS', 'ALLOCATIONS', 'NOT STARTED', 'HOURS IN 24 H', 'RESERVED', 'PAUSED BY', 'SINCE'],
    ['gears', 'PAUSED', '0 of 20', '0 of 4', '0', '0', 'anna', SHOWN],
  ]);
});

it('shows all allocations that are open, and the latest five of each recipe that are over', () => {
  const many = (count: number, fields: Partial<api.HostAllocation>) =>
    Array.from({ length: count }, (_, at) => allocation(`${fields.state}-${at}`, fields));
  const allocations = [
    ...many(7, {}),
    ...many(20, { state: 'ENDED', cause: 'IDLE', joinedAt: AT, endedAt: AT }),
  ];
  const shown = cellsOf([recipe({ allocations })]).slice(4);
  expect(shown).toHaveLength(7 + 5);
});
