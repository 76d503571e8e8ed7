/** The command line of `workbench-runner`, and how it reads its standard input. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RUNNER } from './fixtures/runner-under-test.js';

describe('the command line of workbench-runner', () => {
  async function run(...args: string[]) {
    const child = spawn(process.execPath, [RUNNER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk));
    const [code] = await once(child, 'close');
    return { code, text };
  }

  it('has --help and --version', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, text: expect.stringContaining('--interpreter') });
    expect(await run('--version')).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it.each([['--unknown'], ['rest'], ['--interpreter', ''], ['--interpreter', "sh -c 'open"]])(
    'refuses %j %j with exit code 2',
    async (...args) => expect(await run(...args)).toMatchObject({ code: 2 }),
  );
});

describe("workbench-runner's standard input", () => {
  const COUNT = 5000;
  // It is not initialized, and says so to each.
  const request = (id: number) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'simulateWork',
      params: { taskId: `größe-${id}`, durationMs: 0 },
    });
  const input = Buffer.from(Array.from({ length: COUNT }, (_, id) => `${request(id)}\n`).join(''));

  async function answersOf(stdin: 'pipe' | number): Promise<number> {
    const child = spawn(process.execPath, [RUNNER], { stdio: [stdin, 'pipe', 'inherit'] });
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk));
    child.stdin?.end(input);
    expect(await once(child, 'close')).toEqual([0, null]);
    return text.match(/not initialized/g)?.length ?? 0;
  }

  it('is read to its end, and all of it answered, from a pipe', async () => {
    expect(await answersOf('pipe')).toBe(COUNT);
  });

  it('is read to its end, and all of it answered, from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workbench-input-'));
    await writeFile(join(folder, 'input'), input);
    const file = await open(join(folder, 'input'));
    try {
      expect(await answersOf(file.fd)).toBe(COUNT);
    } finally {
      await file.close();
      await rm(folder, { recursive: true });
    }
  });
});
