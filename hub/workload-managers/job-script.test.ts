import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { jobScript } from './job-script.js';

const WRITES_ITS_SIGNALS = `
  const { appendFileSync, writeFileSync } = require('node:fs');
  const file = process.argv.at(-3);
  process.on('SIGTERM', () => {
    appendFileSync(file, 'TERM ');
    setTimeout(() => process.exit(0), 2500);
  });
  process.on('SIGHUP', () => appendFileSync(file, 'HUP '));
  writeFileSync(file + '.data', process.env.WORKBENCH_AGENT_DATA_DIR);
  setInterval(() => undefined, 60_000);`;

interface Job {
  readonly script: ChildProcess;
  readonly folder: string;
  readonly scratch: string;
  /** Signals that the agent got so far. */
  signals(): string;
  ended(): Promise<number | null>;
}

/** Runs the script of an agent, in a group of processes of its own, as `shell` does. */
async function startJob(shell: string, agentCommand: readonly string[], isRunning = true): Promise<Job> {
  const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const scratch = join(folder, "scratch's place");
  await mkdir(scratch);
  const facts = join(folder, 'facts');
  const allocation = { folder, scratch, agentConfigOf: () => ({}), wallTimeMs: 60_000 };
  await writeFile(
    join(folder, 'job.sh'),
    jobScript({ ...allocation, agentCommand: [...agentCommand, facts] }, folder),
  );
  const script = spawn(shell, [join(folder, 'job.sh')], { stdio: 'ignore', detached: true });
  const exit = once(script, 'exit');
  if (isRunning) await vi.waitFor(() => readFileSync(`${facts}.data`), { timeout: 60_000 });
  return {
    ...{ script, folder, scratch },
    signals: () => (existsSync(facts) ? readFileSync(facts, 'utf8') : ''),
    ended: async () => (await exit)[0] as number | null,
  };
}

const SHELLS = ['sh', 'bash'];
const AGENT = [process.execPath, '-e', WRITES_ITS_SIGNALS, '--'];

describe.each(SHELLS)('the script of a job in %s', (shell) => {
  it.each(['SIGTERM', 'SIGINT', 'SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const)(
    'hands %s on as SIGTERM, when it alone gets it',
    async (signal) => {
      const job = await startJob(shell, AGENT);
      expect(readdirSync(job.scratch)).toHaveLength(1);
      job.script.kill(signal);
      expect(await job.ended()).toBe(0);
      expect(job.signals()).toBe('TERM ');
      expect(readdirSync(job.scratch)).toEqual([]);
    },
  );

  it.each([
    ['SIGTERM', 'TERM '],
    ['SIGHUP', 'HUP TERM '],
  ] as const)('lets an agent end once, when all processes get %s', async (signal, signals) => {
    const job = await startJob(shell, AGENT);
    process.kill(-Number(job.script.pid), signal);
    expect(await job.ended()).toBe(0);
    expect(job.signals()).toBe(signals);
    expect(readdirSync(job.scratch)).toEqual([]);
  });

  it('ends with the code of the agent, and leaves neither its data nor a process', async () => {
    const script = 'mkdir -p kept/inside; chmod 500 kept; echo words; echo complaints >&2; exit 3';
    const job = await startJob(shell, ['sh', '-c', script], false);
    expect(await job.ended()).toBe(3);
    expect(readFileSync(join(job.folder, 'output'), 'utf8')).toBe('words\ncomplaints\n');
    expect(readdirSync(job.scratch)).toEqual([]);
    expect(() => process.kill(-Number(job.script.pid), 0)).toThrow('ESRCH');
  });

  it('removes what jobs that were killed on its host have left there, and nothing else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const scratch = join(folder, 'scratch');
    await mkdir(scratch);
    const left = async (name: string, atMs: number) => {
      await mkdir(join(scratch, name, 'inside'), { recursive: true });
      await writeFile(join(scratch, name, '.job-lock'), '');
      await chmod(join(scratch, name, 'inside'), 0o500);
      await utimes(join(scratch, name), atMs / 1000, atMs / 1000);
    };
    const longAgoMs = Date.now() - 7_200_000;
    const prefix = `workbench-agent.${hostname()}`;
    await left(`${prefix}.killed`, longAgoMs);
    await left(`${prefix}.running`, longAgoMs);
    await left(`${prefix}.beginning`, Date.now());
    await left('workbench-agent.another-host.killed', longAgoMs);
    const holder = spawn('flock', [
      join(scratch, `${prefix}.running`, '.job-lock'),
      'sh',
      '-c',
      'echo held; cat',
    ]);
    onTestFinished(() => void holder.stdin.end());
    await once(holder.stdout, 'data');

    const allocation = {
      folder,
      scratch,
      agentConfigOf: () => ({}),
      wallTimeMs: 60_000,
      agentCommand: ['true'],
    };
    await writeFile(join(folder, 'job.sh'), jobScript(allocation, folder));
    const [code] = await once(spawn(shell, [join(folder, 'job.sh')], { stdio: 'ignore' }), 'exit');
    expect(code).toBe(0);
    expect(readdirSync(scratch).sort()).toEqual(
      [`${prefix}.beginning`, `${prefix}.running`, 'workbench-agent.another-host.killed'].sort(),
    );
  });

  it('holds its folder while it runs', async () => {
    const job = await startJob(shell, AGENT);
    const lock = join(job.scratch, String(readdirSync(job.scratch)[0]), '.job-lock');
    const asked = spawn('flock', ['--nonblock', lock, 'true'], { stdio: 'ignore' });
    expect((await once(asked, 'exit'))[0]).toBe(1);
    job.script.kill('SIGTERM');
    await job.ended();
  });

  it('says so when the host has no folder for the data', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const allocation = {
      folder,
      scratch: '/no/such',
      agentConfigOf: () => ({}),
      wallTimeMs: 60_000,
      agentCommand: ['true'],
    };
    await writeFile(join(folder, 'job.sh'), jobScript(allocation, folder));
    const [code] = await once(spawn(shell, [join(folder, 'job.sh')], { stdio: 'ignore' }), 'exit');
    expect(code).toBe(73);
    expect(readFileSync(join(folder, 'output'), 'utf8')).toMatch(
      /no folder can be made in \/no\/such on \S+\n$/,
    );
  });
});
