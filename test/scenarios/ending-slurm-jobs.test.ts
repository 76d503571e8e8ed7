/** The end of the jobs of a quickstart with Slurm, with a Slurm whose first answer is an error. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';

const SLURM = new URL('../../deploy/quickstart/slurm.mjs', import.meta.url);

it('tells Slurm to end them although it did not answer at first, and waits until it has none', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const programs = join(folder.path, 'programs');
  const asked = join(folder.path, 'asked');
  const ended = join(folder.path, 'ended');
  mkdirSync(programs);
  mkdirSync(join(folder.path, 'slurm'));
  const program = (name: string, text: string) =>
    writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program(
    'squeue',
    `echo >>'${asked}'; [ "$(grep -c '' '${asked}')" -gt 1 ] && { [ -e '${ended}' ] || echo slurm-1; }`,
  );
  program('scancel', `echo "$@" >'${ended}'`);
  const ending = `import(${JSON.stringify(SLURM.href)}).then((it) => it.endSlurmJobs(process.argv[1]))`;
  const env = { ...process.env, PATH: `${programs}${delimiter}${process.env['PATH']}` };
  await promisify(execFile)(process.execPath, ['-e', ending, folder.path], {
    env,
    cwd: fileURLToPath(new URL('.', SLURM)),
  });
  expect(existsSync(ended)).toBe(true);
  expect(readFileSync(ended, 'utf8')).toMatch(/^--user \S+\n$/);
  expect(readFileSync(asked, 'utf8')).toBe('\n'.repeat(3));
});
