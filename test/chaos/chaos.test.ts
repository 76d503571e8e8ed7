/** Short chaos runs; `npm run chaos` makes longer ones. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SECONDS = 20;
/** Duration with several hubs, for a pause beyond the term of the scheduler and what follows it. */
const SEVERAL_SECONDS = 30;
const TIME_LIMIT_MS = 300_000;

async function summaryOf(args: readonly string[]): Promise<string> {
  const main = fileURLToPath(new URL('../dist/chaos/main.js', import.meta.url));
  const run = spawn(process.execPath, [main, ...args]);
  let said = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (piece) => (said += piece));
  const code = await new Promise((resolve) => run.once('close', resolve));
  for (const line of said.split('\n')) if (line.startsWith('LEFT OUT')) console.warn(line);
  expect(code, said).toBe(0);
  expect(said).toMatch(/^lost +0$/m);
  expect(said).toMatch(/^twice +0$/m);
  expect(Number(/^tasks answered with 201 +(\d+)$/m.exec(said)?.[1]), said).toBeGreaterThan(10);
  // A build machine must allow all faults.
  if (process.env['CI'] !== undefined) expect(said).not.toMatch(/LEFT OUT {2}(full disk|link down)/);
  return said;
}

it(
  `every task that was accepted with 201 ends once while random faults happen for ${SECONDS} s`,
  () => summaryOf(['--seconds', String(SECONDS)]),
  TIME_LIMIT_MS,
);

it(
  `it does so at three hubs, whose database fails over, for ${SEVERAL_SECONDS} s`,
  async () => {
    const said = await summaryOf(['--hubs', '3', '--seconds', String(SEVERAL_SECONDS)]);
    expect(said).toMatch(/^ {2}database failed over +1$/m);
  },
  TIME_LIMIT_MS,
);
