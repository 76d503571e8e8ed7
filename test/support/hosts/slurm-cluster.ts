/** A real Slurm on this machine, in namespaces of its own: it listens on all addresses, and no process outlives it. */
import { type ChildProcess, execFile, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../eventually.js';
import { temporaryFolder } from '../temporary-folder.js';

const PATH = [process.env['PATH'] ?? '', '/usr/sbin', '/sbin'].join(delimiter);
const HOSTS = 3;
const FIRST_PORT = 17_001;
/** An address that is not loopback: without one, glibc resolves no address for Slurm, not even 127.0.0.1. */
const HOLDER = 'ip link set lo up && ip addr add 192.0.2.1/32 dev lo && echo ready && cat && :';

const run = promisify(execFile);

export interface SlurmCluster {
  /** Beginning of commands that run beside the cluster, as `via` of a workload manager: it treats its words as ssh does. */
  readonly via: readonly string[];
  /** Folder of the cluster, for what the test shares with its hosts. */
  readonly folder: string;
  /** Environment by which Slurm's commands find the cluster. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Starts a program in the network of the cluster; it is the process of the child that is returned. */
  spawnInside(command: string, args: readonly string[], options?: SpawnOptions): ChildProcess;
  /** Output of a command in the network of the cluster. */
  runInside(command: string, args: readonly string[]): Promise<string>;
  /** Ends the controller: by SIGTERM it keeps all jobs; by SIGKILL it may forget those of the last seconds, and give their ids again. */
  endController(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  startController(): Promise<void>;
  /** Stops the controller as it is: it takes requests and answers none, until it goes on. */
  haltController(): void;
  resumeController(): void;
  /** Whether the jobs that the controller has written to its disk have this text, as in a name or a comment. */
  isKept(text: string): boolean;
  /** Names of the hosts. */
  readonly hosts: readonly string[];
  /** Ends the daemon of a host; its jobs go on. */
  endHost(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  startHost(name: string): Promise<void>;
  /** Kills the daemon of a host, and has the controller notice at once. */
  loseHost(name: string): Promise<void>;
  /** Starts it again; resolves when all hosts take jobs. */
  regainHost(name: string): Promise<void>;
  /** Starts slurmrestd; resolves with its address, at which it is reached from outside. */
  startRest(): Promise<string>;
  stop(): Promise<void>;
}

/** Reason why no cluster can be started on this machine; undefined when one can. */
export function slurmObstacle(): string | undefined {
  try {
    if (process.getuid?.() !== 0) return 'it takes the rights of root';
    for (const program of ['munged', 'slurmctld', 'slurmd', 'sbatch', 'slurmrestd', 'nsenter', 'ip'])
      checkProgram(program);
    execFileSync('unshare', ['--net', '--pid', '--fork', '--mount-proc', 'true'], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether this machine has Slurm, and the rights for namespaces. Without them, tests with a cluster are skipped, and the run says so; never
 *  under CI, where they fail. */
export function hasSlurm(): boolean {
  if (process.env['CI'] !== undefined) return true;
  const obstacle = slurmObstacle();
  if (obstacle !== undefined) console.warn(`SKIPPED, tests with Slurm: ${obstacle}`);
  return obstacle === undefined;
}

/** Whether this machine has the programs of Slurm. Without them, tests that start some by themselves are skipped, as with {@link hasSlurm}. */
export function hasSlurmPrograms(): boolean {
  if (process.env['CI'] !== undefined) return true;
  try {
    for (const program of ['munged', 'slurmctld', 'slurmd', 'sbatch']) checkProgram(program);
    return true;
  } catch (error) {
    console.warn(`SKIPPED, tests with Slurm: ${(error as Error).message}`);
    return false;
  }
}

/** Starts a cluster; resolves when all hosts are idle. `hostCount` is at most 99. */
export async function slurmCluster(hostCount = HOSTS): Promise<SlurmCluster> {
  const { path: folder, remove } = await temporaryFolder();
  await chmod(folder, 0o755);
  await writeConfiguration(folder, hostCount);
  const hosts = Array.from({ length: hostCount }, (_, at) => `n${at + 1}`);
  const environment = { ...process.env, PATH, SLURM_CONF: join(folder, 'slurm.conf') };
  const holder = spawn(
    'unshare',
    ['--net', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', HOLDER],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: environment,
    },
  );
  await once(holder.stdout, 'data');
  const init = String(childOf(holder));
  const inNetwork = ['nsenter', '--target', init, '--net'];

  const spawnInside = (command: string, args: readonly string[], options: SpawnOptions = {}) =>
    spawn('nsenter', [...inNetwork.slice(1), command, ...args], {
      ...options,
      env: { ...environment, ...options.env },
    });
  const runInside = async (command: string, args: readonly string[]) =>
    (await run('nsenter', [...inNetwork.slice(1), command, ...args], { env: environment })).stdout;
  /** Daemons are in the namespace of processes, too, and so are their jobs. */
  const daemon = (command: string, args: readonly string[]) =>
    spawn('nsenter', ['--target', init, '--net', '--pid', '--mount', command, ...args], {
      stdio: 'ignore',
      env: environment,
    });

  let controller: ChildProcess | undefined;
  const daemons = new Map<string, ChildProcess>();
  let forwarder: Server | undefined;
  const cluster: SlurmCluster = {
    via: [...inNetwork, 'env', `SLURM_CONF=${environment.SLURM_CONF}`, 'sh', '-c', 'exec sh -c "$*"', 'via'],
    folder,
    environment,
    spawnInside,
    runInside,
    async endController(signal) {
      if (controller === undefined) return;
      const ended = once(controller, 'exit');
      process.kill(childOf(controller), signal);
      await ended;
      controller = undefined;
    },
    async startController() {
      controller = daemon('slurmctld', ['-D']);
      await idleHosts(runInside, hostCount);
    },
    haltController: () => void (controller && process.kill(childOf(controller), 'SIGSTOP')),
    resumeController: () => {
      if (controller === undefined) return;
      process.kill(childOf(controller), 'SIGCONT');
      // nsenter stops with its child, and would not see its end.
      controller.kill('SIGCONT');
    },
    isKept: (text) => readFileSync(join(folder, 'state', 'job_state'), 'latin1').includes(text),
    hosts,
    async endHost(name, signal) {
      const host = daemons.get(name);
      if (host === undefined) return;
      const ended = once(host, 'exit');
      process.kill(childOf(host), signal);
      await ended;
      daemons.delete(name);
    },
    async startHost(name) {
      daemons.set(name, daemon('slurmd', ['-D', '-N', name]));
    },
    async loseHost(name) {
      await cluster.endHost(name, 'SIGKILL');
      await runInside('scontrol', ['update', `NodeName=${name}`, 'State=DOWN', 'Reason=gone']);
    },
    async regainHost(name) {
      await cluster.startHost(name);
      await runInside('scontrol', ['update', `NodeName=${name}`, 'State=RESUME']);
      await idleHosts(runInside, hostCount);
    },
    async startRest() {
      const socket = join(folder, 'rest', 'socket');
      await mkdir(join(folder, 'rest'));
      // It refuses to be root, and the user of the controller.
      await chmod(join(folder, 'rest'), 0o777);
      const asDaemon = ['--reuid=daemon', '--regid=daemon', '--clear-groups', 'env', 'SLURM_JWT=daemon'];
      daemon('setpriv', [
        ...asDaemon,
        'slurmrestd',
        '-a',
        'rest_auth/jwt',
        '-s',
        'openapi/v0.0.38',
        `unix:${socket}`,
      ]);
      await eventually(() => existsSync(socket));
      // A socket in the file system is reached from any network.
      forwarder = createServer((outside) => {
        const inside = connect(socket);
        outside.on('error', () => inside.destroy());
        inside.on('error', () => outside.destroy());
        outside.pipe(inside).pipe(outside);
      }).listen(0, '127.0.0.1');
      await once(forwarder, 'listening');
      return `http://127.0.0.1:${(forwarder.address() as AddressInfo).port}`;
    },
    async stop() {
      forwarder?.close();
      const ended = once(holder, 'exit');
      // The first process of the namespace ends with its input, and all others with it.
      holder.stdin.end();
      await ended;
      await remove();
    },
  };
  daemon('munged', [
    ...['--foreground', '--force', `--key-file=${folder}/munge.key`, `--socket=${folder}/munge.socket`],
    ...[
      `--pid-file=${folder}/munged.pid`,
      `--seed-file=${folder}/munge.seed`,
      `--log-file=${folder}/munged.log`,
    ],
  ]);
  try {
    await eventually(() => runInside('munge', ['-n', '-S', `${folder}/munge.socket`]));
    for (const host of hosts) await cluster.startHost(host);
    await cluster.startController();
    return cluster;
  } catch (error) {
    const log = await readFile(join(folder, 'slurmctld.log'), 'utf8').catch(() => '(none)');
    await cluster.stop();
    throw new Error(`Slurm does not start; the end of its log: ${log.slice(-2000)}`, { cause: error });
  }
}

async function idleHosts(runInside: SlurmCluster['runInside'], hostCount: number): Promise<void> {
  await eventually(async () => {
    const states = (await runInside('sinfo', ['--noheader', '--Node', '--partition=main', '--format=%T']))
      .trim()
      .split('\n');
    return (
      states.length === hostCount && states.every((state) => ['idle', 'mixed', 'allocated'].includes(state))
    );
  });
}

async function writeConfiguration(folder: string, hostCount: number): Promise<void> {
  await mkdir(join(folder, 'state'));
  await writeFile(join(folder, 'munge.key'), randomBytes(1024), { mode: 0o400 });
  await writeFile(join(folder, 'jwt.key'), randomBytes(32), { mode: 0o600 });
  await writeFile(join(folder, 'cgroup.conf'), 'CgroupAutomount=no\n');
  const host = hostname().split('.')[0] ?? '';
  const lastPort = FIRST_PORT + hostCount - 1;
  const lines = [
    ...['ClusterName=test', `SlurmctldHost=${host}(127.0.0.1)`, 'SlurmUser=root', 'SlurmdUser=root'],
    ...[
      'SlurmctldPort=16817',
      'AuthType=auth/munge',
      `AuthInfo=socket=${folder}/munge.socket`,
      'CredType=cred/munge',
    ],
    ...['AuthAltTypes=auth/jwt', `AuthAltParameters=jwt_key=${folder}/jwt.key`],
    ...[`StateSaveLocation=${folder}/state`, `SlurmdSpoolDir=${folder}/spool-%n`],
    ...[`SlurmctldPidFile=${folder}/slurmctld.pid`, `SlurmdPidFile=${folder}/slurmd-%n.pid`],
    ...[`SlurmctldLogFile=${folder}/slurmctld.log`, `SlurmdLogFile=${folder}/slurmd-%n.log`],
    ...['ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none', 'JobAcctGatherType=jobacct_gather/none'],
    ...['AccountingStorageType=accounting_storage/none', 'MpiDefault=none', 'ReturnToService=2'],
    ...['SelectType=select/cons_tres', 'SelectTypeParameters=CR_CPU', 'SlurmdParameters=config_overrides'],
    // Soon, so that tests need not wait: the next scheduling, what follows SIGTERM, and the call of a controller that is away.
    ...['SchedulerParameters=batch_sched_delay=0,sched_interval=1', 'KillWait=10', 'MessageTimeout=5'],
    ...['MinJobAge=300', 'SlurmctldTimeout=30', 'SlurmdTimeout=30'],
    `NodeName=n[1-${hostCount}] NodeHostname=${host} NodeAddr=127.0.0.1 Port=[${FIRST_PORT}-${lastPort}] CPUs=2 RealMemory=1000`,
    // Refuses jobs beyond the limit of a partition, instead of letting them wait.
    'EnforcePartLimits=ALL',
    `PartitionName=short Nodes=n[1-${hostCount}] MaxTime=1 State=UP`,
    `PartitionName=main Nodes=n[1-${hostCount}] Default=YES MaxTime=INFINITE State=UP`,
  ];
  await writeFile(join(folder, 'slurm.conf'), `${lines.join('\n')}\n`);
}

/** The process that `unshare` or `nsenter` has started for its command. */
function childOf({ pid }: ChildProcess): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const [only] = children;
  if (only === undefined || only === '' || children.length > 1)
    throw new Error(`the process ${pid} has ${children.length} children instead of one`);
  return Number(only);
}

function checkProgram(name: string): void {
  for (const folder of PATH.split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return;
    } catch {
      // The next folder may have it.
    }
  }
  throw new Error(`there is no program ${name}`);
}
