/** A short soak run; `npm run soak` makes longer ones. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { USES } from './interfaces.js';

/** Time for load and faults, in which each process lives too briefly to be judged. */
const MINUTES = 0.5;
const TIME_LIMIT_MS = 300_000;
const MAIN = fileURLToPath(new URL('../dist/soak/main.js', import.meta.url));

async function summaryOf(args: readonly string[]): Promise<string> {
  const run = spawn(process.execPath, [MAIN, ...args]);
  let said = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (piece) => (said += piece));
  const code = await new Promise((resolve) => run.once('close', resolve));
  expect(code, said).toBe(0);
  return said;
}

/** Command lines of all processes with this text. */
function commandsWith(text: string): string[] {
  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    });
  return lines.filter((line) => line.includes(text));
}

/** The number beside a name in the summary; of a count, the one at the end. */
function numberIn(said: string, name: string): number {
  const line = said.split('\n').find((text) => text.trimStart().startsWith(`${name}  `)) ?? '';
  const numbers = line.trim().slice(name.length).trim().split(/ +/);
  return Number(numbers[1] ?? numbers[0]);
}

it(
  'every interface works, faults strike, all that users have made is removed, and everything is counted',
  async () => {
    const said = await summaryOf(['--minutes', String(MINUTES)]);
    expect(said).toMatch(/^wrong +0$/m);
    for (const name of Object.keys(USES))
      expect(numberIn(said, name), `${name} in ${said}`).toBeGreaterThan(0);
    expect(numberIn(said, 'jobs that were audited'), said).toBeGreaterThan(0);
    expect(numberIn(said, 'faults'), said).toBeGreaterThan(0);
    for (const table of ['task', 'task_file', 'personal_token', 'session'])
      expect(numberIn(said, `rows of ${table}`), `${table} in ${said}`).toBe(0);
    for (const name of ['hub', 'a', 'b', 'c'])
      for (const what of ['heap, MiB', 'descriptors', 'entries of maps and sets', 'files'])
        expect(numberIn(said, `${name}: ${what}`), `${name}: ${what} in ${said}`).toBeGreaterThan(0);
  },
  TIME_LIMIT_MS,
);

it(
  'a run that is ended by a signal ends all that it has started',
  async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const run = spawn(process.execPath, [MAIN, '--minutes', '5'], {
      env: { ...process.env, TMPDIR: folder.path },
    });
    const ended = once(run, 'close');
    let said = '';
    for (const stream of [run.stdout, run.stderr]) stream.on('data', (piece) => (said += piece));
    await eventually(() => said.includes(' is counted'), TIME_LIMIT_MS);
    // A fault of the next round may have ended one of them, which is started again.
    await eventually(() => commandsWith(folder.path).length > 3);
    run.kill('SIGTERM');
    const [code] = await ended;
    expect(code, said).toBe(128 + constants.signals.SIGTERM);
    expect(said).toContain('ended from outside, by SIGTERM');
    await eventually(() => commandsWith(folder.path).length === 0);
  },
  TIME_LIMIT_MS,
);
