import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { LeftFiles, type LeftFilesOptions } from './left-files.js';

it('tries four removals that fail again each minute, in turn, and all that do not', async () => {
  const { timers, advance } = manualRuntime();
  let isStuck = true;
  const tried: string[] = [];
  const takeTried = () => tried.splice(0);
  const left = new LeftFiles({
    manager: {
      remove: async (name: string) => {
        tried.push(name);
        if (isStuck) throw new Error('busy');
      },
    },
    timers,
    log: { warn: () => undefined, info: () => undefined },
  } as unknown as LeftFilesOptions);
  left.start();
  await advance(0);
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const id of ids) await left.remove(id);
  expect(takeTried()).toEqual(ids);
  await advance(59_999);
  expect(takeTried()).toEqual([]);
  await advance(1);
  expect(takeTried()).toEqual(['a', 'b', 'c', 'd']);
  await advance(60_000);
  expect(takeTried()).toEqual(['e', 'f', 'a', 'b']);
  await left.stop();
  await advance(600_000);
  expect(takeTried()).toEqual([]);
  isStuck = false;
  left.start();
  await advance(0);
  expect(takeTried()).toEqual(['c', 'd', 'e', 'f', 'a', 'b']);
  await advance(600_000);
  expect(takeTried()).toEqual([]);
});
