/** Commands on another machine, by a real ssh and a real sshd. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { WorkloadManagerError } from '@workbench-hub/hub/core/ports/workload-manager';
import { commandRunner, type RunCommand } from '@workbench-hub/hub/workload-managers/run-command';
import { siteCommands } from '@workbench-hub/hub/workload-managers/site-commands';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { hasSshServer, type SshServer, sshServer } from '../support/hosts/ssh-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { siteCommandsUnderTest } from './site-commands-under-test.js';
import { describeWorkloadManager } from './workload-manager-suite.js';

/** Options of the page for operators, with more time for a busy machine. */
const RECOMMENDED = ['-o', 'BatchMode=yes', '-o', 'ConnectTimeout=60', '-o', 'LogLevel=ERROR'];
/** Options by which ssh keeps its connection. */
const KEPT = ['-o', 'ControlMaster=auto', '-o', 'ControlPersist=60'];
/** Time that ssh has for a command that ends by itself. */
const LONG_MS = 120_000;

function runner(via: readonly string[], { timeLimitMs = LONG_MS, variables = {} } = {}): RunCommand {
  const environment = { ...process.env, ...variables };
  return commandRunner({ via, environment, timers: systemRuntime.timers, timeLimitMs });
}

/** Message of a command with an unknown outcome. */
async function unavailable(run: Promise<unknown>): Promise<string> {
  const error: unknown = await run.catch((thrown: unknown) => thrown);
  if (error instanceof WorkloadManagerError && error.fault === 'UNAVAILABLE') return error.message;
  throw new Error('the command was not rejected as unavailable', { cause: error });
}

/** Folder for the files of the running test. */
async function folderOfTest(): Promise<string> {
  const { path, remove } = await temporaryFolder();
  onTestFinished(remove);
  return path;
}

/** Command that never ends, and a look whether it runs: the reader of its pipe sees the end of the last process that has it open. */
async function endless(): Promise<{ command: readonly string[]; hasBegun(): boolean; hasEnded(): boolean }> {
  const folder = await folderOfTest();
  const pipe = join(folder, 'pipe');
  const begun = join(folder, 'begun');
  const ended = join(folder, 'ended');
  const reader = `(trap '' HUP TERM; exec </dev/null >/dev/null 2>&1; cat '${pipe}'; touch '${ended}') &`;
  const detached = `setsid sh -c "${reader}"`;
  const script = `mkfifo '${pipe}'; ${detached}; exec 3>'${pipe}'; touch '${begun}'; sleep 600 & echo busy >&2; wait`;
  return {
    command: ['sh', '-c', script],
    hasBegun: () => existsSync(begun),
    hasEnded: () => existsSync(ended),
  };
}

const sshIsThere = hasSshServer();

describe.skipIf(!sshIsThere)("a workload manager by the site's commands over a real ssh", () =>
  describeWorkloadManager(async () => {
    const server = await sshServer();
    const underTest = await siteCommandsUnderTest(server.via(...RECOMMENDED, ...KEPT));
    return {
      ...underTest,
      close: async () => {
        await server.stop();
        await underTest.close();
      },
    };
  }, ['slow', 'quota', 'stuck']),
);

describe.skipIf(!sshIsThere)('a command over a real ssh', () => {
  let server: SshServer;
  beforeAll(async () => {
    server = await sshServer();
  });
  afterAll(() => server?.stop());

  it('gets its words, input and variables unchanged', async () => {
    const words = [
      "it's",
      'a b',
      '$HOME',
      '$(id)',
      '`id`',
      '*',
      '"',
      '',
      'ü',
      '\\',
      'a\nb',
      ';exit 9',
      '!!',
      '~',
    ];
    const script = 'printf "%s|" "$@"; cat; printf %s "$WORKBENCH_ALLOCATION"';
    const input = `input\n${'x'.repeat(200_000)}\n`;
    const run = runner(server.via(...RECOMMENDED));
    const end = await run(['sh', '-c', script, 'sh', ...words], {
      input,
      variables: { WORKBENCH_ALLOCATION: "its 'name' costs $5" },
    });
    expect(end).toMatchObject({ exitCode: 0, stdout: `${words.join('|')}|${input}its 'name' costs $5` });
  });

  it('that fails keeps its exit code and its complaint, also with the code that ssh has for itself', async () => {
    const run = runner(server.via(...RECOMMENDED));
    for (const [code, kept] of [
      [1, 1],
      [75, 75],
      [255, 1],
    ]) {
      const end = await run(['sh', '-c', `echo list; echo "it's full" >&2; exit ${code}`]);
      expect(end).toMatchObject({ exitCode: kept, stdout: 'list\n', stderr: "it's full\n" });
    }
    expect(await unavailable(run(['no-such-program']))).toMatch(
      /^no-such-program \(by ssh .* submit-host\) ended with exit code 127: .*no-such-program/,
    );
    expect(await unavailable(run(['sh', '-c', 'kill -KILL $$']))).toMatch(/it was killed there$/);
  });

  it('is refused by the workload manager with its words', async () => {
    const run = runner(server.via(...RECOMMENDED));
    const submit = ['sh', '-c', 'echo "no account $WORKBENCH_ALLOCATION" >&2; exit 2'];
    const driver = siteCommands(
      { kind: 'command', via: [], submit, list: ['true'], cancel: ['true'], check: null },
      {
        ...{ folder: '/', scratch: null, agentCommand: ['true'], wallTimeMs: 60_000 },
        agentConfigOf: () => ({}),
      },
      run,
    );
    await expect(driver.submit({ name: 'gears-1', script: '/job.sh' })).rejects.toMatchObject({
      fault: 'REFUSED',
      message: expect.stringMatching(/^sh \(by ssh .*\): no account gears-1$/),
    });
  });

  it('is not known when no connection is taken', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    listener.close();
    await once(listener, 'close');
    expect(await unavailable(runner(server.via(...RECOMMENDED, '-p', String(port)))(['squeue']))).toMatch(
      /^squeue \(by ssh .*\) ended with exit code 255: .*Connection refused/,
    );
  });

  it.each([
    ['with the options of the page', RECOMMENDED],
    ['without options', []],
  ])('ends at once when the host is not known, %s', async (_, options) => {
    const via = server.via('-o', 'UserKnownHostsFile=/dev/null', ...options);
    expect(await unavailable(runner(via)(['squeue']))).toMatch(
      /ended with exit code 255: .*Host key verification failed/s,
    );
  });

  it('ends at once where ssh would ask for a password', async () => {
    const folder = await folderOfTest();
    const [asks, asked] = [join(folder, 'asks'), join(folder, 'asked')];
    // As on a machine with a display, where ssh has a program that asks in a window.
    await writeFile(asks, `#!/bin/sh\ntouch '${asked}'\nexec sleep 600\n`, { mode: 0o755 });
    const variables = { SSH_ASKPASS: asks, SSH_ASKPASS_REQUIRE: 'force' };
    const via = (...options: readonly string[]) =>
      server.via('-o', 'PubkeyAuthentication=no', '-o', 'PreferredAuthentications=password', ...options);
    expect(await unavailable(runner(via(...RECOMMENDED), { variables })(['squeue']))).toMatch(
      /ended with exit code 255: .*Permission denied/s,
    );
    expect(existsSync(asked)).toBe(false);
    // Without a window, there is no terminal either in which it could ask.
    expect(
      await unavailable(runner(via(), { variables: { SSH_ASKPASS_REQUIRE: 'never' } })(['squeue'])),
    ).toMatch(/ended with exit code 255: .*Permission denied/s);
  });

  it('ends at once when the host takes the connection and says nothing', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(
      0,
      '127.0.0.1',
    );
    await once(silent, 'listening');
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const port = String((silent.address() as AddressInfo).port);
    const via = server.via('-o', 'BatchMode=yes', '-o', 'ConnectTimeout=1', '-p', port);
    expect(await unavailable(runner(via)(['squeue']))).toMatch(/ended with exit code 255: .*[Tt]imed out/s);
  });

  it('is given up after its time when the connection hangs, and ends there, too', async () => {
    const { command, hasBegun, hasEnded } = await endless();
    const message = unavailable(runner(server.via(...RECOMMENDED), { timeLimitMs: 25_000 })(command));
    await eventually(hasBegun);
    server.connections.freeze();
    expect(await message).toMatch(/^sh \(by ssh .*\) has not ended within 25 s, and was ended/);
    await eventually(hasEnded);
  });

  it('goes on by a new connection when one that ssh keeps hangs', async () => {
    const via = server.via(
      ...RECOMMENDED,
      ...KEPT,
      '-o',
      'ServerAliveInterval=4',
      '-o',
      'ServerAliveCountMax=2',
    );
    onTestFinished(() => {
      const [ssh = '', ...args] = server.via('-O', 'exit');
      spawnSync(ssh, args, { stdio: 'ignore' });
    });
    const answer = () => runner(via)(['printf', '%s', "it's"]);
    expect(await answer()).toMatchObject({ exitCode: 0, stdout: "it's" });
    const count = server.connections.count();
    expect(await answer()).toMatchObject({ exitCode: 0, stdout: "it's" });
    expect(server.connections.count()).toBe(count);
    server.connections.freeze();
    await eventually(async () => {
      expect(await answer()).toMatchObject({ exitCode: 0, stdout: "it's" });
      return true;
    }, LONG_MS);
    expect(server.connections.count()).toBeGreaterThan(count);
  });
});
