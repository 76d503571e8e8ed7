// A Slurm of the quickstart: Debian's packages as programs of this user, which listen on the loopback address only.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { assertRunning, freePort } from './programs.mjs';

const exec = promisify(execFile);

const NODES = ['n1', 'n2'];
const SLOTS = 2;
const READY_TIMEOUT_MS = 60_000;
const JOBS_END_MS = 20_000;
const POLL_MS = 200;
/** Debian has the daemons where only root's commands are. */
const PATH = [process.env.PATH ?? '', '/usr/sbin', '/sbin'].join(delimiter);
const PROGRAMS = {
  munged: 'munge',
  slurmctld: 'slurmctld',
  slurmd: 'slurmd',
  sbatch: 'slurm-client',
};

/** Folder of Slurm within the data folder of a quickstart. */
const folderOf = (dataFolder) => join(dataFolder, 'slurm');

/** Changes of the environment by which Slurm's commands find the Slurm of this quickstart. */
export function slurmEnvironment(dataFolder) {
  return { PATH, SLURM_CONF: join(folderOf(dataFolder), 'slurm.conf') };
}

/**
 * Starts Slurm with two hosts, and says so. Throws an Error in words when a program is missing.
 *
 * @param {import('./run.mjs').Run} run
 */
export async function startSlurm(run) {
  checkPrograms();
  const folder = folderOf(run.folder);
  const env = slurmEnvironment(run.folder);
  await writeConfiguration(folder);
  const files = ['key', 'socket', 'seed', 'pid'].map((name) => join(folder, `munge.${name}`));
  const [key, socket, seed, pid] = files;
  const munge = await run.start({
    name: 'munged',
    command: 'munged',
    args: [
      ...['--foreground', '--force', `--key-file=${key}`, `--socket=${socket}`, `--seed-file=${seed}`],
      ...[`--pid-file=${pid}`, `--log-file=${join(folder, 'munge.log')}`],
    ],
    env,
  });
  await until(munge, () => existsSync(socket));
  const config = ['-D', '-f', env.SLURM_CONF];
  const controller = await run.start({ name: 'slurmctld', command: 'slurmctld', args: config, env });
  for (const node of NODES)
    await run.start({ name: `slurmd ${node}`, command: 'slurmd', args: [...config, '-N', node], env });
  await until(controller, async () => {
    const states = await asked(run.folder, 'sinfo', ['--noheader', '--Node', '--format=%T']);
    return states.length === NODES.length && states.every((state) => state === 'idle');
  });
  const [version] = await asked(run.folder, 'sinfo', ['--version']);
  console.log(
    `\nSlurm:  ${version}, process ${controller.pid}, hosts ${NODES.join(', ')}, as this user, on 127.0.0.1 only`,
  );
}

/** Names of the jobs that Slurm has: it is asked, not the hub. */
export function slurmJobs(dataFolder) {
  return asked(dataFolder, 'squeue', ['--noheader', '--format=%j']);
}

/** Ends the jobs of this quickstart, if it has a Slurm that answers, and waits for their end. */
export async function endSlurmJobs(dataFolder) {
  if (!existsSync(folderOf(dataFolder))) return;
  const deadline = Date.now() + JOBS_END_MS;
  while (!(await haveJobsEnded(dataFolder)) && Date.now() < deadline) await delay(POLL_MS);
}

/** Whether Slurm has no job; otherwise it is told to end them. */
async function haveJobsEnded(dataFolder) {
  try {
    if ((await slurmJobs(dataFolder)).length === 0) return true;
    await asked(dataFolder, 'scancel', ['--user', userInfo().username]);
  } catch {
    // It does not answer now, or it is gone already: its jobs end with their time.
  }
  return false;
}

async function asked(dataFolder, command, args) {
  const env = { ...process.env, ...slurmEnvironment(dataFolder) };
  const { stdout } = await exec(command, args, { env, timeout: JOBS_END_MS });
  return stdout.split('\n').filter((line) => line !== '');
}

function checkPrograms() {
  for (const [program, name] of Object.entries(PROGRAMS)) {
    const isThere = PATH.split(delimiter).some((folder) => existsSync(join(folder, program)));
    if (!isThere)
      throw new Error(
        `The program ${program} is missing. On Debian: apt-get install --no-install-recommends ${Object.values(PROGRAMS).join(' ')}` +
          ` (${program} is in ${name}). Nothing of it needs to run: the quickstart starts a Slurm of its own.`,
      );
  }
}

async function until(program, isTrue) {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await Promise.resolve(isTrue()).catch(() => false))) {
    assertRunning(program);
    if (Date.now() > deadline)
      throw new Error(`The ${program.name} was not ready in time. Its log is ${program.outFile}`);
    await delay(POLL_MS);
  }
}

async function writeConfiguration(folder) {
  await mkdir(join(folder, 'state'), { recursive: true });
  await writeFile(join(folder, 'munge.key'), randomBytes(1024), { mode: 0o400 });
  await writeFile(join(folder, 'cgroup.conf'), 'CgroupAutomount=no\n');
  const user = userInfo().username;
  const host = hostname().split('.')[0];
  const nodes = [];
  for (const node of NODES)
    nodes.push(
      `NodeName=${node} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${await freePort()} CPUs=${SLOTS} RealMemory=1000`,
    );
  const lines = [
    ...['ClusterName=quickstart', `SlurmctldHost=${host}(127.0.0.1)`, `SlurmctldPort=${await freePort()}`],
    ...[`SlurmUser=${user}`, `SlurmdUser=${user}`, 'CommunicationParameters=NoInAddrAny,NoCtldInAddrAny'],
    ...['AuthType=auth/munge', `AuthInfo=socket=${folder}/munge.socket`, 'CredType=cred/munge'],
    ...[`StateSaveLocation=${folder}/state`, `SlurmdSpoolDir=${folder}/spool-%n`],
    ...[`SlurmctldPidFile=${folder}/slurmctld.pid`, `SlurmdPidFile=${folder}/slurmd-%n.pid`],
    ...[`SlurmctldLogFile=${folder}/slurmctld.log`, `SlurmdLogFile=${folder}/slurmd-%n.log`],
    ...['ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none', 'JobAcctGatherType=jobacct_gather/none'],
    ...['AccountingStorageType=accounting_storage/none', 'MpiDefault=none', 'ReturnToService=2'],
    // The processors of the configuration count, not those of this machine.
    ...['SelectType=select/cons_tres', 'SelectTypeParameters=CR_CPU', 'SlurmdParameters=config_overrides'],
    'SchedulerParameters=batch_sched_delay=0,sched_interval=1',
    ...nodes,
    `PartitionName=main Nodes=${NODES.join()} Default=YES MaxTime=INFINITE State=UP`,
  ];
  await writeFile(join(folder, 'slurm.conf'), `${lines.join('\n')}\n`);
}
