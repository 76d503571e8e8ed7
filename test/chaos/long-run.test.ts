/** The end of long runs, and of what they have started. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';

const START = fileURLToPath(new URL('fixtures/start-long-run.mjs', import.meta.url));
const RELAY = fileURLToPath(new URL('../support/hosts/relay.mjs', import.meta.url));

/** The command of a run, once its program has begun. */
async function startRun() {
  const run = spawn(process.execPath, [START], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void run.kill('SIGKILL'));
  const [begun] = (await once(run.stdout, 'data')) as [Buffer];
  expect(begun.toString()).toMatch(/^begun \d+\n$/);
  return { run, rest: text(run.stdout), said: text(run.stderr) };
}

it.each(['SIGINT', 'SIGTERM'] as const)(
  '%s to the command of a run lets its program clean up',
  async (signal) => {
    const { run, rest } = await startRun();
    run.kill(signal);
    expect(await once(run, 'exit')).toEqual([143, null]);
    expect(await rest).toBe('cleaned up\n');
  },
);

it('the program of a run cleans up when its command was killed', async () => {
  const { run, rest, said } = await startRun();
  run.kill('SIGKILL');
  // The output ends with the program.
  expect(await rest).toBe('cleaned up\n');
  expect(await said).toContain('by the end of the process that started it');
});

it('the way from the hosts of a cluster to a hub ends with the process that has begun it', async () => {
  const { path, remove } = await temporaryFolder();
  onTestFinished(remove);
  const relay = spawn(process.execPath, [RELAY, '0', `${path}/socket`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void relay.kill('SIGKILL'));
  await once(relay.stdout, 'data');
  const ended = once(relay, 'exit');
  relay.stdin.end();
  expect(await ended).toEqual([0, null]);
});
