/** The console's words for refusals, beside the closed list of the hub. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ERROR_CODES } from '@workbench-hub/hub/core/errors';
import { expect, it } from 'vitest';

const WORDS = fileURLToPath(new URL('../../packages/console/words/refusals-de.ts', import.meta.url));

it('have a sentence for each code, and for no other', async () => {
  const codes = [...(await readFile(WORDS, 'utf8')).matchAll(/^ {2}([A-Z_]+):/gm)].map(([, code]) => code);
  expect(codes.toSorted()).toEqual(ERROR_CODES.toSorted());
});
