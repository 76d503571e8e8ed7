/** The jobs in README.md, by `wb` and by curl, run verbatim against real programs. */
import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JobResult, outputsOf } from '../support/interface/rest-client.js';
import { codeBlock, replaced } from '../support/pages/code-blocks.js';
import { endPrograms, startCommand } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the README's job against the hub at `baseUrl` and checks everything that it prints. */
async function expectJobToRun(baseUrl: string): Promise<void> {
  const script = codeBlock('README.md', 'cat > read-model.js').replace('http://127.0.0.1:8080', baseUrl);
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd: folder.path });
  const end = stdout.lastIndexOf('}') + 1;
  const result = JSON.parse(stdout.slice(0, end)) as JobResult;
  expect(result).toMatchObject({ status: 'FINISHED', batchExecutionStatus: 'OK' });
  expect(outputsOf(result)).toEqual({
    'ratio.txt': '2',
    'report/summary.txt': 'ratio 2, input speed 1500 rpm\n',
  });
  expect(stdout.slice(end)).toBe('ratio of 2 gears at 1500 rpm\n');
}

/** Runs the README's job by `wb` against the hub at `baseUrl`. */
async function expectWbToRun(baseUrl: string): Promise<void> {
  const script = replaced(codeBlock('README.md', 'npx wb run'), {
    'http://127.0.0.1:8080': baseUrl,
    'npx wb': join(ROOT, 'node_modules/.bin/wb'),
  });
  const { stdout, stderr } = await promisify(execFile)('bash', ['-euc', script], { cwd: folder.path });
  expect(stderr).toContain('ratio of 2 gears at 1500 rpm\n');
  expect(stdout).toMatch(/FINISHED, scripts OK\nresults\/ratio.txt\n$/);
  expect(readFileSync(join(folder.path, 'results/ratio.txt'), 'utf8')).toBe('2');
}

const quickstart = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['deploy/quickstart/quickstart.mjs', ...args], { cwd: ROOT });

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

describe('the jobs in the README', () => {
  it('run on the hub of the README', async () => {
    symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
    const start = replaced(codeBlock('README.md', 'cat > hub.yaml'), {
      'npm run setup\n': '',
      'npx ': 'exec node_modules/.bin/',
    });
    // The port of the README may be in use here.
    const port = { WORKBENCH_HUB_SERVER_PORT: '0' };
    const hub = startCommand(['bash', '-euc', start], folder.path, port);
    const { address } = await hub.logged((line) => typeof line['address'] === 'string');
    await expectJobToRun(String(address));
    await expectWbToRun(String(address));
  });

  it('run on what the quickstart leaves running', async () => {
    const { stdout } = await quickstart('--keep');
    try {
      const baseUrl = /^Hub: +(http:\S+),/m.exec(stdout)?.[1] ?? '';
      await expectJobToRun(baseUrl);
      await expectWbToRun(baseUrl);
    } finally {
      await quickstart('--stop', /^Data and logs are in (.+)$/m.exec(stdout)?.[1] ?? '');
      await rm(join(ROOT, /^Result: \d+ files in (.+)$/m.exec(stdout)?.[1] ?? ''), { recursive: true });
    }
  });
});
