/** One script, tested on the process itself; with a whole runner: runner.test.ts, processes.test.ts. */
import { readdirSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { GroupGuard } from './group-guard.js';
import { ScriptPipes } from './script-pipes.js';
import { runScriptProcess, type ScriptHost } from './script-process.js';
import { posix } from './systems/host-system.js';

/** All that was watched, in order. */
let watched: (number | undefined)[];
let abort: AbortController;
const pipes = new ScriptPipes();
const guard: GroupGuard = {
  open: () => undefined,
  watch: (leaderPid) => {
    watched.push(leaderPid);
    return () => void watched.push(undefined);
  },
  close: () => undefined,
};

beforeEach(() => {
  watched = [];
  abort = new AbortController();
});

afterEach(() => vi.useRealTimers());

function runShell(
  script: string,
  output: (text: string) => Promise<void> = () => Promise.resolve(),
  host: Pick<ScriptHost, 'guard' | 'pipes'> = { guard, pipes },
) {
  return runScriptProcess(
    { command: 'sh', args: ['-c', script], workingDirectory: tmpdir(), environment: process.env },
    { ...host, system: posix },
    { instanceId: 'sim-1', signal: abort.signal, output: (_, text) => output(text), log: () => undefined },
  );
}

describe.skipIf(process.platform === 'win32')('a script', () => {
  it.each([
    ['its pipes', { guard, pipes }],
    [
      'those of spawn',
      { guard, pipes: { open: () => Promise.resolve(undefined) } as unknown as ScriptPipes },
    ],
  ])('loses nothing of its last output by %s, however slowly it is written', async (_, host) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const printed: string[] = [];
    const takers: (() => void)[] = [];
    const running = runShell(
      "head -c 60000 /dev/zero | tr '\\0' x; sleep 0.1; head -c 60000 /dev/zero | tr '\\0' y; echo end",
      (text) => {
        printed.push(text);
        return new Promise((resolve) => takers.push(resolve));
      },
      host,
    );
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    void running.then(over, over);
    while (!isOver) {
      // The script has ended, and its log is not yet written: much longer than a stream may stay silent.
      if (vi.getTimerCount() > 0 && takers.length > 0) {
        vi.advanceTimersByTime(60_000);
        takers.shift()?.();
      }
      await new Promise(setImmediate);
    }
    expect(await running).toEqual({ exitCode: 0, signal: null });
    expect(printed.join('') === `${'x'.repeat(60_000)}${'y'.repeat(60_000)}end\n`).toBe(true);
  });

  it.each([
    ['ends', 'exit 3'],
    ['is canceled', 'echo ready; sleep 1000'],
  ])('is no longer watched when it %s: its id may belong to another group by then', async (how, script) => {
    await runShell(script, async () => {
      if (how === 'is canceled') abort.abort();
    });
    expect(watched).toEqual([expect.any(Number), undefined]);
  });

  it.each([
    ['after it has ended', 'echo ready'],
    ['while it runs', 'echo ready; sleep 1000'],
  ])('gets no signal after its end, when it is canceled %s', async (when, script) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const running = runShell(script, async () => {
      if (when === 'while it runs') abort.abort();
    });
    // So that its output is watched.
    while (watched.length < 2) {
      vi.advanceTimersByTime(1);
      await new Promise(setImmediate);
    }
    await running;
    const kill = vi.spyOn(process, 'kill');
    abort.abort();
    vi.advanceTimersByTime(60_000);
    expect(kill).not.toHaveBeenCalled();
    kill.mockRestore();
  });

  it.skipIf(process.platform !== 'linux')('leaves no file open, whoever still holds its pipes', async () => {
    // Other kinds of files belong to the test runner, which opens them when it likes.
    const openPipes = () => readdirSync('/proc/self/fd').filter(isPipe).length;
    // The script ends when the daemon has left its process group, with which it would be ended.
    const daemon = `trap 'exit 0' USR1; setsid sh -c "echo \\$\\$; kill -USR1 $$; exec sleep 1000" & wait`;
    const runDaemon = async () => {
      let pid = '';
      await runShell(daemon, async (text) => {
        pid += text;
      });
      process.kill(Number(pid), 'SIGKILL');
    };
    // A script without a daemon leaves its pipes to the next one.
    const runBoth = async () => {
      await runDaemon();
      await runShell('echo next');
    };
    await runBoth();
    const before = openPipes();
    for (let run = 0; run < 3; run++) await runBoth();
    // A stream closes its file a moment after its end.
    await vi.waitFor(() => expect(openPipes()).toBeLessThanOrEqual(before), 60_000);
  });
});

/** Whether an open file of this process is a pipe, named or not, or the socket in place of one. */
function isPipe(fd: string): boolean {
  try {
    return /^(?:pipe|socket):|\(deleted\)$/.test(readlinkSync(`/proc/self/fd/${fd}`));
  } catch {
    // The file of the listing itself, which is closed by now.
    return false;
  }
}
