/** A real HTCondor with one host on this machine, in namespaces of its own, which end with all that runs in them. It comes from a folder with a Debian
 *  that has it; all of its processes are those of an ordinary user, who can change no setting of the machine. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.js';
import { temporaryFolder } from '../temporary-folder.js';

const CLONE = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');
const PORT = 9618;
/** Kinds of namespaces that the pool has for itself. */
const KINDS = ['--net', '--pid', '--mount'];
/** Makes a copy of the system that is gone with the namespaces, and has it as root of all that follows. */
const SYSTEM = `set -e
ip link set lo up
ip addr add 192.0.2.1/32 dev lo
mkdir upper work root
mount -t overlay none -o "lowerdir=$SYSTEM,upperdir=upper,workdir=work" root
mount -t proc none root/proc
mount --rbind /dev root/dev
for folder in "$PWD" "$CLONE"; do mkdir -p "root$folder"; mount --bind "$folder" "root$folder"; done
mkdir -p "root$(dirname "$NODE")"
touch "root$NODE"
mount --bind "$NODE" "root$NODE"
echo 'workbench:x:1000:1000::/:/bin/sh' >>root/etc/passwd
echo 'workbench:x:1000:' >>root/etc/group
echo "127.0.0.1 localhost $(hostname)" >root/etc/hosts
mkdir root/outside
cd root
pivot_root . outside
umount -l /outside
echo ready
cat
:
`;

export interface CondorPool {
  /** Beginning of commands that run beside the pool, as `via` of a workload manager: it treats its words as ssh does. */
  readonly via: readonly string[];
  /** Folder of the pool, for what the test shares with its host. */
  readonly folder: string;
  /** Kills the schedd, which has the queue; jobs run on. */
  endSchedd(): void;
  startSchedd(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a pool from the system in this folder; resolves when its host takes jobs. */
export async function condorPool(system: string): Promise<CondorPool> {
  const { path: folder, remove } = await temporaryFolder();
  await writeConfiguration(folder);
  const holder = spawn('unshare', [...KINDS, '--fork', '--kill-child', '--mount-proc', 'sh', '-c', SYSTEM], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: folder,
    env: { ...process.env, SYSTEM: system, CLONE, NODE: process.execPath },
  });
  const stop = async () => {
    if (holder.exitCode === null) {
      const ended = once(holder, 'exit');
      holder.stdin.end();
      await ended;
    }
    await remove();
  };
  await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')]);
  try {
    if (holder.exitCode !== null) throw new Error('its system does not start; the complaint is above');
    return { ...(await startedPool(holder, folder)), folder, stop };
  } catch (error) {
    await stop();
    throw new Error('HTCondor does not start', { cause: error });
  }
}

/** Starts the daemons in the namespaces of the holder. */
async function startedPool(
  holder: ChildProcess,
  folder: string,
): Promise<Pick<CondorPool, 'via' | 'endSchedd' | 'startSchedd'>> {
  const [init] = childrenOf(holder);
  const [program = '', ...words] = [
    ...['nsenter', '--target', String(init), ...KINDS, 'unshare', '--user'],
    ...['--map-user=1000', '--map-group=1000', 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
    `CONDOR_CONFIG=${join(folder, 'condor.config')}`,
  ];
  const run = (...command: readonly string[]) =>
    execFileSync(program, [...words, ...command], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const answers = () => eventually(() => run('condor_q', '-af', 'ClusterId') !== undefined);
  const daemons = spawn(program, [...words, 'condor_master', '-f'], { stdio: 'ignore' });
  const master = () => childrenOf(daemons)[0] ?? 0;
  await eventually(() => run('condor_status', '-af', 'Name').trim() !== '');
  await answers();
  return {
    via: [program, ...words, 'sh', '-c', 'exec sh -c "$*"', 'via'],
    endSchedd() {
      // Else the master starts it again.
      process.kill(master(), 'SIGSTOP');
      const schedd = childrenOf({ pid: master() }).find((pid) => nameOf(pid) === 'condor_schedd');
      process.kill(schedd ?? 0, 'SIGKILL');
    },
    async startSchedd() {
      process.kill(master(), 'SIGCONT');
      // The program that has started it stops with it, and does not go on with it.
      daemons.kill('SIGCONT');
      await answers();
    },
  };
}

async function writeConfiguration(folder: string): Promise<void> {
  const own = join(folder, 'condor');
  for (const part of ['log', 'spool', 'execute', 'lock', 'run'])
    await mkdir(join(own, part), { recursive: true });
  const lines = [
    ...['RELEASE_DIR = /usr', 'BIN = /usr/bin', 'SBIN = /usr/sbin', 'LIB = /usr/lib/condor'],
    ...['LIBEXEC = /usr/libexec/condor', `LOCAL_DIR = ${own}`, 'LOG = $(LOCAL_DIR)/log'],
    ...['SPOOL = $(LOCAL_DIR)/spool', 'EXECUTE = $(LOCAL_DIR)/execute', 'LOCK = $(LOCAL_DIR)/lock'],
    ...['RUN = $(LOCAL_DIR)/run', 'CONDOR_HOST = 127.0.0.1', 'NETWORK_INTERFACE = 127.0.0.1'],
    ...['BIND_ALL_INTERFACES = False', 'ENABLE_IPV6 = False', `COLLECTOR_HOST = 127.0.0.1:${PORT}`],
    ...['use ROLE: Personal', 'NUM_CPUS = 8', 'MEMORY = 8192', 'START = TRUE', 'SUSPEND = FALSE'],
    ...['PREEMPT = FALSE', 'KILL = FALSE', 'FULL_HOSTNAME = localhost', 'UID_DOMAIN = localhost'],
    // It would change settings of the whole machine.
    'ENABLE_KERNEL_TUNING = False',
    'MOUNT_UNDER_SCRATCH =',
    // The network has nobody else.
    ...['READ', 'WRITE', 'DAEMON', 'NEGOTIATOR', 'ADMINISTRATOR'].map((right) => `ALLOW_${right} = *`),
    // Soon, so that tests need not wait.
    ...['NEGOTIATOR_INTERVAL = 1', 'NEGOTIATOR_CYCLE_DELAY = 1', 'NEGOTIATOR_MIN_INTERVAL = 1'],
    ...['SCHEDD_INTERVAL = 1', 'SCHEDD_MIN_INTERVAL = 1', 'UPDATE_INTERVAL = 2'],
    ...['PERIODIC_EXPR_INTERVAL = 1', 'MASTER_BACKOFF_CONSTANT = 1', 'MASTER_BACKOFF_FACTOR = 1'],
    ...['SUBMIT_REQUIREMENT_NAMES = Group', 'SUBMIT_REQUIREMENT_Group = AcctGroup =!= "other"'],
    'SUBMIT_REQUIREMENT_Group_REASON = "there is no accounting group other"',
  ];
  await writeFile(join(folder, 'condor.config'), `${lines.join('\n')}\n`);
}

function childrenOf({ pid }: Pick<ChildProcess, 'pid'>): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
}
