/** `npm run quickstart` as a newcomer runs it; installing and building are done already and found to be so. */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['deploy/quickstart/quickstart.mjs', ...args], { cwd: ROOT });

/** Holds the default port, unless somebody else does already. */
let holder: Server;

beforeAll(async () => {
  holder = createServer();
  await new Promise<void>((resolve) => {
    holder.once('error', () => resolve());
    holder.listen(8080, '127.0.0.1', () => resolve());
  });
});

afterAll(
  () => new Promise<void>((resolve) => (holder.listening ? holder.close(() => resolve()) : resolve())),
);

function savedFolder(stdout: string): string {
  const found = /^Result: \d+ files in (.+)$/m.exec(stdout)?.[1];
  if (found === undefined) throw new Error(`no result folder is named:\n${stdout}`);
  return join(ROOT, found);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the quickstart', () => {
  it('simulates, shows progress, saves the files, and leaves nothing running', {
    timeout: 120_000,
  }, async () => {
    const { stdout } = await run();
    expect(stdout).toMatch(/Hub: {4}http:\/\/127\.0\.0\.1:\d+, process \d+ \(port 8080 is in use/);
    expect(stdout).toMatch(/\| +50 % +t = 2\.50 s/);
    expect(stdout).toContain('FINISHED on instance mujoco-');
    const folder = savedFolder(stdout);
    try {
      for (const name of ['motion.csv', 'energy-balance.csv', 'motion.svg', 'summary.json']) {
        const size = (await readFile(join(folder, name))).length;
        expect(stdout).toMatch(new RegExp(` ${size} bytes {2}${name.replace('.', '\\.')}$`, 'm'));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
    const pids = [...stdout.matchAll(/process (\d+)/g)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(2);
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
  });

  it('leaves both running with --keep, and says what to try and how to stop them', {
    timeout: 120_000,
  }, async () => {
    const { stdout } = await run('--keep');
    const pids = /^Stop them with: kill (\d+) (\d+)$/m.exec(stdout)?.slice(1).map(Number) ?? [];
    const data = /^Data and logs are in (.+)$/m.exec(stdout)?.[1] ?? '';
    try {
      await rm(savedFolder(stdout), { recursive: true });
      expect(pids).toHaveLength(2);
      const commands = [...stdout.matchAll(/^ {2}(curl .+)$/gm)].map(([, command]) => String(command));
      expect(commands).toHaveLength(3);
      for (const command of commands) {
        const { stdout: answer } = await promisify(execFile)('bash', ['-c', `${command} --fail --silent`]);
        expect(JSON.parse(answer)).toBeTypeOf('object');
      }
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGTERM');
      await eventually(() => !pids.some(isAlive), 20_000);
      await rm(data, { recursive: true, force: true });
    }
  });
});
