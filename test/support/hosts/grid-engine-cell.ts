/** A real Grid Engine with one host on this machine, in namespaces of its own, which end with all that runs in them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.js';

const QUEUE = [
  ...['qname main.q', 'hostlist @allhosts', 'seq_no 0', 'load_thresholds NONE', 'suspend_thresholds NONE'],
  ...[
    'nsuspend 1',
    'suspend_interval 00:05:00',
    'priority 0',
    'min_cpu_interval 00:05:00',
    'processors UNDEFINED',
  ],
  ...[
    'qtype BATCH',
    'ckpt_list NONE',
    'pe_list NONE',
    'rerun FALSE',
    'slots 8',
    'tmpdir /tmp',
    'shell /bin/sh',
  ],
  ...[
    'prolog NONE',
    'epilog NONE',
    'shell_start_mode unix_behavior',
    'starter_method NONE',
    'suspend_method NONE',
  ],
  ...['resume_method NONE', 'terminate_method NONE', 'notify 00:00:10', 'owner_list NONE', 'user_lists NONE'],
  ...['xuser_lists NONE', 'subordinate_list NONE', 'complex_values NONE', 'projects NONE', 'xprojects NONE'],
  ...['calendar NONE', 'initial_state default'],
  ...['rt', 'cpu', 'fsize', 'data', 'stack', 'core', 'rss', 'vmem'].flatMap((each) => [
    `s_${each} INFINITY`,
    `h_${each} INFINITY`,
  ]),
];

/** Copies what Debian installed, so that the cell of this machine stays as it is, and begins a cell there. */
const CELL = `set -e
cd "$0"
ip link set lo up
ip addr add 192.0.2.1/32 dev lo
for folder in lib spool; do cp -a /var/$folder/gridengine $folder; mount --bind $folder /var/$folder/gridengine; done
mount -t tmpfs none /run
install -d -o sgeadmin /run/gridengine
echo "localhost $(hostname)" >/var/lib/gridengine/default/common/host_aliases
sge_qmaster
until qconf -sh; do sleep 0.1; done
qconf -as localhost
# Before the host starts: one that learned it later failed its first job of root, and its queue stayed in error.
mkdir configuration
qconf -sconf | sed 's/^\\(min_uid\\|min_gid\\).*/\\1 0/' >configuration/global
qconf -Mconf configuration/global
sge_execd
qconf -Ahgrp hosts
qconf -Aq queue
# Soon, so that tests need not wait.
qconf -ssconf | sed 's/^\\(schedule_interval\\).*/\\1 0:0:1/; s/^\\(flush_submit_sec\\|flush_finish_sec\\).*/\\1 1/' >scheduler
qconf -Msconf scheduler
until qstat -f | grep -q 'lx-amd64  *$'; do sleep 0.1; done
`;

/** File with the id of the master's process, in its namespace. */
const MASTER = '/var/spool/gridengine/qmaster/qmaster.pid';

/** Kills the daemon of the host, and each process that watches a job, with the group of the job. */
const LOSE_HOST = `set -e
cd /var/spool/gridengine/execd/*/
kill -KILL $(cat execd.pid)
for file in active_jobs/*/pid; do
  [ -s "$file" ] || continue
  watcher=$(cat "$file")
  kill -STOP "$watcher"
  for leader in $(cat "/proc/$watcher/task/$watcher/children"); do kill -KILL "-$leader"; done
  kill -KILL "$watcher"
done`;

export interface GridEngineCell {
  /** Beginning of commands that run beside the cell, as `via` of a workload manager: it treats its words as ssh does. */
  readonly via: readonly string[];
  /** The same, as another user. */
  viaAs(user: string): readonly string[];
  /** Folder of the cell, for what the test shares with its host. */
  readonly folder: string;
  endMaster(): void;
  startMaster(): void;
  /** Ends the master without a warning. */
  killMaster(): void;
  /** Stops the master as it is: it takes requests and answers none, until it goes on. */
  haltMaster(): void;
  resumeMaster(): void;
  /** Lets the host vanish with all that runs on it. Nobody tells the master. */
  loseHost(): void;
  /** Bounds the jobs of a user; 0 for no bound. */
  boundJobs(count: number): void;
  stop(): Promise<void>;
}

/** Whether this machine has Grid Engine, and the rights for namespaces. Without them, tests with a cell are skipped, and the run says so;
 *  never under CI, where they fail. */
export function hasGridEngine(): boolean {
  if (process.env['CI'] !== undefined) return true;
  try {
    if (process.getuid?.() !== 0) throw new Error('they take the rights of root');
    for (const program of ['sge_qmaster', 'sge_execd', 'qsub', 'nsenter', 'ip'])
      execFileSync(
        'sh',
        ['-c', `PATH=$PATH:/usr/sbin; command -v ${program} || { echo there is no ${program} >&2; exit 1; }`],
        { stdio: 'pipe' },
      );
    execFileSync('unshare', ['--net', '--pid', '--mount', '--fork', '--mount-proc', 'true'], {
      stdio: 'pipe',
    });
    return true;
  } catch (error) {
    console.warn(`SKIPPED, tests with Grid Engine: ${(error as Error).message.trim()}`);
    return false;
  }
}

/** Starts a cell; resolves when its host takes jobs. */
export async function gridEngineCell(): Promise<GridEngineCell> {
  const { path: folder, remove } = await temporaryFolder();
  await chmod(folder, 0o755);
  await writeFile(join(folder, 'queue'), `${QUEUE.join('\n')}\n`);
  await writeFile(join(folder, 'hosts'), 'group_name @allhosts\nhostlist localhost\n');
  const kinds = ['--net', '--pid', '--mount'];
  const holder = spawn(
    'unshare',
    [...kinds, '--fork', '--kill-child', '--mount-proc', 'sh', '-c', 'echo ready; cat; :'],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  await once(holder.stdout, 'data');
  const inside = ['nsenter', '--target', String(childOf(holder)), ...kinds];
  const run = (script: string) =>
    execFileSync(inside[0] ?? '', [...inside.slice(1), 'sh', '-c', script, folder], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` },
      timeout: 60_000,
    });
  const stop = async () => {
    const ended = once(holder, 'exit');
    holder.stdin.end();
    await ended;
    await remove();
  };
  try {
    run(CELL);
  } catch (error) {
    await stop();
    throw new Error('Grid Engine does not start', { cause: error });
  }
  const asSsh = ['sh', '-c', 'exec sh -c "$*"', 'via'];
  return {
    via: [...inside, ...asSsh],
    viaAs: (user) => [...inside, 'setpriv', `--reuid=${user}`, '--clear-groups', ...asSsh],
    folder,
    endMaster: () => void run('qconf -km; while qconf -sh; do sleep 0.1; done'),
    startMaster: () => void run('sge_qmaster; until qconf -sh; do sleep 0.1; done'),
    killMaster: () =>
      void run(`kill -KILL $(cat ${MASTER}) && while kill -0 $(cat ${MASTER}); do sleep 0.1; done`),
    haltMaster: () => void run(`kill -STOP $(cat ${MASTER})`),
    resumeMaster: () => void run(`kill -CONT $(cat ${MASTER})`),
    loseHost: () => void run(LOSE_HOST),
    boundJobs: (count) =>
      void run(`cd "$0" && qconf -sconf | sed 's/^max_u_jobs .*/max_u_jobs ${count}/' >configuration/global &&
        qconf -Mconf configuration/global`),
    stop,
  };
}

/** The first process of the namespace. */
function childOf({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
}
