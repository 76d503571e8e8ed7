/** The command line of `workbench-agent`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const AGENT = fileURLToPath(new URL('bin/workbench-agent.js', import.meta.url));

async function run(...args: string[]) {
  const child = spawn(process.execPath, [AGENT, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk));
  const [code] = await once(child, 'close');
  return { code, text };
}

it('refuses an unknown command and names the commands', async () => {
  expect(await run('register')).toEqual({
    code: 2,
    text: 'unknown command "register": the commands are enroll, doctor; without one, the agent starts\n',
  });
});

it('refuses an unknown option', async () => {
  expect(await run('--conf')).toMatchObject({ code: 2, text: expect.stringContaining('--config') });
});

it('has --help and --version', async () => {
  expect(await run('--help')).toMatchObject({ code: 0, text: expect.stringContaining('enroll') });
  expect(await run('--version')).toMatchObject({ code: 0, text: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

it('stops by itself after stopAfter', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-main-'));
  try {
    const config = { dataDir: join(folder, 'data'), hub: 'ws://127.0.0.1:9', token: 't', stopAfter: '1s' };
    const file = join(folder, 'agent.yaml');
    await writeFile(file, JSON.stringify(config));
    const { code, text } = await run('--config', file);
    expect(text).toContain('its time is over (stopAfter)');
    expect(text).toContain('"msg":"stopped"');
    expect(code).toBe(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
