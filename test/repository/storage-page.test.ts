/** The limits and defaults of the page on the storage are those of hub and clients. */
import { readFileSync } from 'node:fs';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { MAX_INPUT_FILES } from '@workbench-hub/hub/core/storage';
import { expect, it } from 'vitest';

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = textOf('packages/docs/storage.md').replaceAll(/\s+/g, ' ');
const DAY_MS = 86_400_000;

it('the page on the storage has its defaults', () => {
  const { input, output } = hubConfigSchema.parse({}).storage;
  expect(page).toContain('Both are on unless the [configuration]');
  expect([input.enabled, output.enabled]).toEqual([true, true]);
  expect(page).toContain('after the end of its task, 7 days each by default');
  expect([input.expireAfter, output.expireAfter]).toEqual([7 * DAY_MS, 7 * DAY_MS]);
  expect(page).toContain('`storage.input.keepUploadsFor`, a day by default');
  expect(input.keepUploadsFor).toBe(DAY_MS);
  expect(page).toContain('| `storage.input.maxFileSize`, 16 GiB | 413 |');
  expect(input.maxFileSize).toBe(16 * 1024 ** 3);
  expect(page).toContain('| `storage.input.quotaPerUser`, none |');
  expect(input.quotaPerUser).toBeNull();
  expect(page).toContain('A user may have 100,000 files');
  expect(MAX_INPUT_FILES).toBe(100_000);
});

it('the page on the storage has the size from which on clients send a file in parts', () => {
  expect(page).toContain('use it for files above 8 MiB');
  for (const client of ['packages/client/input-storage.ts', 'packages/client-python/workbench_hub/_parts.py'])
    expect(textOf(client)).toMatch(/^(const )?ONE_REQUEST_BYTES = 8 \* 1024 \* 1024;?$/m);
});
