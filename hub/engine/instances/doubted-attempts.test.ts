import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { beforeEach, expect, it } from 'vitest';
import type { Signal } from '../../core/ports/signals.js';
import { DoubtedAttempts, type DoubtedAttemptsOptions } from './doubted-attempts.js';

const REF: AttemptRef = { taskId: 't', attempt: 1, instanceId: 'sim-1' };

let done: string[];
let doubted: DoubtedAttempts;
beforeEach(() => {
  done = [];
  doubted = new DoubtedAttempts({
    archive: { find: async () => undefined, jobOf: async () => undefined },
    instances: {
      attemptsOf: () => [REF],
      occupy: (_: string, { taskId }: AttemptRef) => void done.push(`occupied by ${taskId}`),
      release: (_: string, { taskId }: AttemptRef) => void done.push(`released by ${taskId}`),
    },
    signals: { tell: ({ kind }: Signal) => void done.push(kind) },
    log: { error: (fields: object) => done.push(JSON.stringify(fields)) } as unknown as Logger,
  } as unknown as DoubtedAttemptsOptions);
});

async function joins(spooled: readonly AttemptRef[] | undefined): Promise<readonly string[]> {
  const joined = { kind: 'JOINED', agent: { id: 'a' }, running: [], spooled } as unknown as Signal;
  for (const listener of [doubted.beforeViews, doubted.onSignal]) listener.JOINED?.(joined as never);
  doubted.onSignal.READY?.({ kind: 'READY', agentId: 'a' } as never);
  await new Promise(setImmediate);
  return done;
}

it('an attempt that an agent joins without occupies its instance until the agent is ready', async () => {
  doubted.start();
  expect(await joins([])).toEqual(['occupied by t', 'released by t']);
});

it('an attempt is not doubted when the agent has it, or does not say what it has', async () => {
  doubted.start();
  expect(await joins([REF])).toEqual([]);
  expect(await joins(undefined)).toEqual([]);
});

it('no attempt is doubted by a hub that does not schedule', async () => {
  expect(await joins([])).toEqual([]);
  doubted.start();
  doubted.stop();
  expect(await joins([])).toEqual([]);
});
