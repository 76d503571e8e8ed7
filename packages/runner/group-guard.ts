/**
 * Ends a script's processes when the runner itself is killed and so cannot: a script is in a process group of its
 * own, where a signal to the runner's group does not reach it. The guard is a shell that reads, over a pipe, which
 * script runs; the pipe's end tells it that the runner is gone.
 */
import { type ChildProcess, spawn } from 'node:child_process';

export interface GroupGuard {
  /** From now on the group of this leader ends with the runner; `undefined`: none does. */
  watch(leaderPid: number | undefined): void;
  close(): void;
}

// The last line read counts. Fields after the name in /proc/<pid>/stat: state, parent, group, session.
const GUARD_SCRIPT = `
leader=
while read -r line; do leader=$line; done
[ -n "$leader" ] || exit 0
kill -KILL "-$leader"
for stat in /proc/[0-9]*/stat; do
  read -r line <"$stat" || continue
  set -- \${line##*) }
  if [ "$4" = "$leader" ]; then pid=\${stat#/proc/}; kill -KILL "\${pid%/stat}"; fi
done
`;

/** A guard; on Windows one that does nothing, for there a process tree is not followed beyond its root's end. */
export function groupGuard(): GroupGuard {
  if (process.platform === 'win32') return { watch: () => undefined, close: () => undefined };
  let guard: ChildProcess | undefined;

  const start = (): ChildProcess => {
    // Its own group, so that what ends the runner's does not end the guard; no stream of the runner's held open.
    const child = spawn('/bin/sh', ['-c', GUARD_SCRIPT], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const lost = (error?: Error) => {
      if (guard !== child) return;
      guard = undefined;
      console.error(`the guard of script processes ended${error ? `: ${error.message}` : ''}`);
    };
    child.once('error', lost);
    child.once('exit', () => lost());
    child.stdin?.on('error', lost);
    child.unref();
    return child;
  };

  return {
    watch(leaderPid) {
      guard ??= start();
      guard.stdin?.write(`${leaderPid ?? ''}\n`);
    },
    close() {
      const child = guard;
      guard = undefined;
      child?.stdin?.end();
    },
  };
}
