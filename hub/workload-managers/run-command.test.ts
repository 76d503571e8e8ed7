import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it, onTestFinished } from 'vitest';
import { WorkloadManagerError } from '../core/ports/workload-manager.js';
import { commandRunner, complaintOf } from './run-command.js';

/** Treats its words as ssh does. */
const AS_SSH = ['sh', '-c', 'exec sh -c "$*"', 'ssh'];

function runner({ via = [] as readonly string[], timeLimitMs = 20_000, variables = {} } = {}) {
  const environment = { PATH: process.env['PATH'], ...variables };
  return commandRunner({ via, environment, timers: systemRuntime.timers, timeLimitMs });
}

/** Error of a command with an unknown outcome. */
async function unavailable(run: Promise<unknown>): Promise<string> {
  const error: unknown = await run.catch((thrown: unknown) => thrown);
  if (error instanceof WorkloadManagerError && error.fault === 'UNAVAILABLE') return error.message;
  throw new Error('the command was not rejected as unavailable', { cause: error });
}

it.each([
  ['on this machine', []],
  ['on another machine', AS_SSH],
])('gives a command its words, input and variables unchanged %s', async (_, via) => {
  const words = ["it's", 'a b', '$HOME', '*', '"', '', 'ü', '\\', 'a\nb', ';exit 9'];
  const script = 'printf "%s|" "$@"; cat; printf %s "$WORKBENCH_ALLOCATION"';
  const end = await runner({ via })(['sh', '-c', script, 'sh', ...words], {
    input: 'input\n',
    variables: { WORKBENCH_ALLOCATION: "its 'name'" },
  });
  expect(end).toMatchObject({ exitCode: 0, stdout: `${words.join('|')}|input\nits 'name'` });
});

it.each([
  'WORKBENCH_HUB_STORE_URL',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'aws_secret_access_key',
  'PGPASSWORD',
  'PGPASSFILE',
])('keeps the variable %s of the hub from commands, here and elsewhere', async (name) => {
  const variables = { [name]: 'hidden', SLURM_CONF: '/etc/slurm.conf', PGROUPD_LICENSE_FILE: '27000@a' };
  for (const via of [[], AS_SSH]) {
    const { stdout } = await runner({ via, variables })(['env']);
    expect(stdout).toContain('SLURM_CONF=/etc/slurm.conf');
    expect(stdout).toContain('PGROUPD_LICENSE_FILE=');
    expect(stdout).not.toContain('hidden');
  }
});

it('names a program that is missing, here and elsewhere', async () => {
  expect(await unavailable(runner()(['no-such-program']))).toBe(
    'no-such-program cannot be started: there is no such program',
  );
  expect(await unavailable(runner({ via: AS_SSH })(['no-such-program']))).toMatch(
    /^no-such-program \(by sh -c .*\) ended with exit code 127: .*no-such-program.*(?:not found|No such file)/,
  );
});

it('tells a connection that ssh has not from a command that ends with the same code', async () => {
  const without = ['sh', '-c', 'echo "ssh: connect to host login: Connection refused" >&2; exit 255'];
  expect(await unavailable(runner({ via: without })(['sbatch']))).toContain('Connection refused');
  expect(await runner({ via: AS_SSH })(['sh', '-c', 'exit 255'])).toMatchObject({ exitCode: 1 });
  expect(await runner({ via: AS_SSH })(['sh', '-c', 'exit 75'])).toMatchObject({ exitCode: 75 });
});

it('takes a command that was killed elsewhere for one that has not answered, as here', async () => {
  expect(await unavailable(runner({ via: AS_SSH })(['sh', '-c', 'echo busy >&2; kill -KILL $$']))).toMatch(
    /^sh \(by sh -c .*\) ended with exit code 255: busy\n(?:.*\n)?it was killed there$/,
  );
});

it('runs commands elsewhere also where no program ends them by a time limit', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink('/bin/sh', join(folder, 'sh'));
  const withoutTimeout = ['sh', '-c', `PATH=${folder}; exec sh -c "$*"`, 'ssh'];
  const end = await runner({ via: withoutTimeout })(['sh', '-c', 'echo "$1"; exit 3', 'sh', "it's"]);
  expect(end).toMatchObject({ exitCode: 3, stdout: "it's\n" });
});

it('ends a command that takes too long, and what it started', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const started = join(folder, 'started');
  const pipe = join(folder, 'pipe');
  // The reader of the pipe sees its end when no process has it open.
  const script = `mkfifo ${pipe}; (sleep 600) >${pipe} & cat <${pipe} >/dev/null; touch ${started}`;
  const run = runner({ timeLimitMs: 300 })(['sh', '-c', `echo busy >&2; ${script}`]);
  expect(await unavailable(run)).toBe('sh has not ended within 0.3 s, and was ended: busy');
  expect(existsSync(started)).toBe(false);
});

it('does not wait for what a command leaves running with its output', async () => {
  const { stdout } = await runner()(['sh', '-c', 'sleep 600 & echo $!']);
  process.kill(Number(stdout));
});

it('ends a command that prints without an end', async () => {
  expect(await unavailable(runner()(['sh', '-c', 'yes']))).toMatch(
    /^sh printed more than 1048576 bytes, and was ended/,
  );
});

it('names the signal that ended a command', async () => {
  expect(await unavailable(runner()(['sh', '-c', 'kill -KILL $$']))).toBe('sh was ended by SIGKILL');
});

it('quotes the end of what a command complained about', () => {
  const stderr = `${'x'.repeat(2000)} the reason\n`;
  const complaint = complaintOf({ name: 'sbatch', exitCode: 1, stdout: 'something', stderr });
  expect(complaint).toMatch(/^…x+ the reason$/);
  expect(complaint).toHaveLength(500);
});
