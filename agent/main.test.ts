/** The command line of `workbench-agent`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeHub, TOKEN } from './fixtures/fake-hub.js';

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

describe('an agent with an end', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agent-main-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const runWith = async (config: object) => {
    const file = join(folder, 'agent.yaml');
    await writeFile(file, JSON.stringify({ dataDir: join(folder, 'data'), ...config }));
    return run('--config', file);
  };

  it('stops by itself after stopAfter', async () => {
    const { code, text } = await runWith({ hub: 'ws://127.0.0.1:9', token: 't', stopAfter: '1s' });
    expect(text).toContain('its time is over (stopAfter)');
    expect(text).toContain('"msg":"stopped"');
    expect(code).toBe(0);
  });

  it('stops earlier when its hub knows an earlier end', async () => {
    const hub = await FakeHub.start();
    onTestFinished(() => hub.stop());
    const ended = runWith({ hub: hub.address, token: TOKEN, stopAfter: '1h' });
    expect((await hub.receives('hello')).answers).toContain('stopAfter');
    hub.send({ type: 'request', requestId: '1', request: { kind: 'stopAfter', afterMs: 1 } });
    const { code, text } = await ended;
    expect(text).toContain('its time is over (stopAfter)');
    expect(code).toBe(0);
    expect(await hub.receives('reply')).toMatchObject({ requestId: '1', error: null });
  });
});
