/**
 * Guard that ends the processes of scripts when the runner is killed: each script has a process group of its own, which a signal
 * to the runner's group does not reach. The guard is a shell that waits for the end of a pipe, which comes with the end of the
 * runner, and then reads from a file which scripts run, one on each line. So it sleeps while scripts begin and end. The file has
 * no name and disappears with the processes that hold it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface GroupGuard {
  /** Starts the guard before the first job: an agent may end processes that were started during a job. */
  open(): void;
  /** Registers the group of this leader to be ended with the runner; returns a function that removes it. */
  watch(leaderPid: number): () => void;
  close(): void;
}

/** Length of a line in the file, enough for any process id. */
const LINE_LENGTH = 20;

// Fields after the name in /proc/<pid>/stat: state, parent, group, session.
const GUARD_SCRIPT = `
read -r line
leaders=' '
while read -r leader <&3; do
  [ -n "$leader" ] || continue
  kill -KILL "-$leader"
  leaders="$leaders$leader "
done
[ "$leaders" != ' ' ] || exit 0
for stat in /proc/[0-9]*/stat; do
  read -r line <"$stat" || continue
  set -- \${line##*) }
  case $leaders in *" $4 "*) pid=\${stat#/proc/}; kill -KILL "\${pid%/stat}" ;; esac
done
`;

/** Creates a guard; on Windows it does nothing, since a process tree cannot be followed beyond its root's end. */
export function groupGuard(): GroupGuard {
  if (process.platform === 'win32')
    return { open: () => undefined, watch: () => () => undefined, close: () => undefined };
  let guard: Guard | undefined;
  /** Leaders by line of the file; undefined: a free line. */
  const leaders: (number | undefined)[] = [];

  const lose = (lost: Guard, error?: unknown) => {
    if (guard !== lost) return;
    end();
    console.error(`the guard of script processes ended${error === undefined ? '' : `: ${messageOf(error)}`}`);
  };
  const end = () => {
    if (!guard) return;
    const { child, file } = guard;
    guard = undefined;
    closeSync(file);
    child.stdin?.end();
  };
  const start = (): Guard => {
    const file = namelessFile();
    // In its own group, so that it survives the runner's; it holds no stream of the runner open.
    const child = spawn('/bin/sh', ['-c', GUARD_SCRIPT], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', file],
    });
    const started: Guard = { child, file };
    child.once('error', (error) => lose(started, error));
    child.once('exit', () => lose(started));
    child.stdin?.on('error', (error) => lose(started, error));
    child.unref();
    return started;
  };

  const running = (): Guard => {
    if (guard) return guard;
    guard = start();
    for (const [line, leaderPid] of leaders.entries()) writeLine(guard.file, line, leaderPid);
    return guard;
  };

  const attempt = (action: () => void) => {
    try {
      action();
    } catch (error) {
      if (guard) lose(guard, error);
      else console.error(`a script has no guard that ends it if this process is killed: ${messageOf(error)}`);
    }
  };

  return {
    open: () =>
      attempt(() => {
        running();
      }),
    watch(leaderPid) {
      const free = leaders.indexOf(undefined);
      const line = free < 0 ? leaders.length : free;
      leaders[line] = leaderPid;
      attempt(() => writeLine(running().file, line, leaderPid));
      return () => {
        leaders[line] = undefined;
        attempt(() => {
          if (guard) writeLine(guard.file, line, undefined);
        });
      };
    },
    close: end,
  };
}

interface Guard {
  readonly child: ChildProcess;
  readonly file: number;
}

/** The first folder with room: the one for temporary files may be missing or full. */
function namelessFile(): number {
  let fault: unknown;
  for (const parent of [tmpdir(), '/dev/shm', process.cwd()]) {
    try {
      return namelessFileIn(parent);
    } catch (error) {
      fault ??= error;
    }
  }
  throw fault;
}

function namelessFileIn(parent: string): number {
  const folder = mkdtempSync(join(parent, 'workbench-runner-'));
  try {
    const file = openSync(join(folder, 'leader'), 'wx+', 0o600);
    try {
      // Reserves disk space for later lines: one block.
      writeLine(file, 0, undefined);
      return file;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeLine(file: number, line: number, leaderPid: number | undefined): void {
  writeSync(file, `${leaderPid ?? ''}\n`.padStart(LINE_LENGTH), line * LINE_LENGTH);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
