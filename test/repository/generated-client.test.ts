/** The generated part of the TypeScript client is up to date with the interface. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

it('is up to date', async () => {
  const check = promisify(execFile)(process.execPath, ['deploy/generate-client.mjs', '--check'], {
    cwd: root,
  });
  const outcome = await check.then(
    () => '',
    (error: { stderr: string }) => error.stderr,
  );
  expect(outcome).toBe('');
});
