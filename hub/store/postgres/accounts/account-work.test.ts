import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { DatabaseFault, type DatabaseFaultKind } from '../connection/database-fault.js';
import { AccountWork } from './account-work.js';

const fault = (kind: DatabaseFaultKind, isOutcomeUnknown = false) =>
  new DatabaseFault(kind, new Error(kind), { location: 'db', isOutcomeUnknown });

/** Performs a write that fails with these faults, and then succeeds. Resolves with its result and the number of tries. */
async function written(...faults: DatabaseFault[]): Promise<[result: string, tries: number]> {
  const { clock, timers, advance } = manualRuntime();
  let tries = 0;
  const writing = new AccountWork({ clock, timers, log: null })
    .write(async () => {
      tries++;
      const next = faults.shift();
      if (next) throw next;
      return 'written';
    })
    .catch(({ message }: Error) => message);
  await advance(5000);
  return [await writing, tries];
}

const NOTHING = 'the hub cannot use its database; nothing was changed';
const UNKNOWN = 'the hub cannot use its database; whether anything was changed is not known';

it('a write that changed nothing is repeated only when its connection broke', async () => {
  expect(await written(fault('BROKEN'))).toEqual(['written', 2]);
  for (const kind of ['UNREACHABLE', 'CONFLICT', 'TIMEOUT', 'REFUSED'] as const)
    expect(await written(fault(kind)), kind).toEqual([NOTHING, 1]);
});

it('a write that may have taken effect is repeated over any fault that may pass', async () => {
  const lost = fault('BROKEN', true);
  for (const kind of ['BROKEN', 'UNREACHABLE', 'CONFLICT'] as const)
    expect(await written(lost, fault(kind)), kind).toEqual(['written', 3]);
  for (const kind of ['TIMEOUT', 'REFUSED', 'NO_RIGHTS'] as const)
    expect(await written(lost, fault(kind)), kind).toEqual([UNKNOWN, 2]);
});
