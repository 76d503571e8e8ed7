/**
 * Slurm with one node: jobs come by slurmrestd, and their ends are in the file that the controller writes. It keeps no results
 * and has no long poll, so the front looks into that file. Its state is saved every few seconds only.
 */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, installed, ServerProgram } from '../subjects/server-program.js';
import { give, instead } from './other-user.js';
import { type PeerServer, peerSubject } from './peer.js';
import { SLURM_ENDED, SLURM_SOCKET } from './slurm-roles.js';

const PROGRAMS = ['munged', 'slurmctld', 'slurmd', 'slurmrestd', 'sinfo'];

export const slurm = peerSubject({
  name: 'slurm',
  peer: 'slurm',
  variant: 'slurmrestd',
  worker: false,
  mostTasks: 100,
  missing,
  startServer,
});

function missing(): string | undefined {
  const lacking = PROGRAMS.filter((program) => !installed(program));
  if (lacking.length > 0) {
    return `${lacking.join(', ')} is not installed (apt-get install slurmctld slurmd slurmrestd slurm-client munge)`;
  }
  return process.getuid?.() === 0 ? undefined : 'its daemons have to be started by root';
}

async function startServer(folder: string, slots: number): Promise<PeerServer> {
  const at = (name: string) => join(folder, name);
  for (const name of ['state', 'spool', 'rest']) mkdirSync(at(name));
  writeFileSync(at('munge.key'), randomBytes(1024), { mode: 0o600 });
  writeFileSync(at(SLURM_ENDED), '');
  writeFileSync(at('slurm.conf'), await configuration(at, slots));
  const env = { SLURM_CONF: at('slurm.conf') };
  const nobody = instead('nobody');
  give(at('rest'), nobody);
  const programs: Record<string, ServerProgram> = {};
  const start = (name: string, args: readonly string[], user = {}) => {
    const program = new ServerProgram(name, installed(name) ?? '', args, { folder, env, ...user });
    programs[name] = program;
    return program;
  };
  try {
    const munged = start('munged', [
      '-F',
      '--force',
      `--key-file=${at('munge.key')}`,
      `--socket=${at('munge.sock')}`,
      `--pid-file=${at('munged.pid')}`,
      `--seed-file=${at('munged.seed')}`,
      `--log-file=${at('munged-own.log')}`,
    ]);
    await munged.until(() => existsSync(at('munge.sock')));
    start('slurmctld', ['-D', '-c', '-f', at('slurm.conf')]);
    const slurmd = start('slurmd', ['-D', '-f', at('slurm.conf')]);
    const rest = start(
      'slurmrestd',
      ['-f', at('slurm.conf'), '-a', 'rest_auth/local', '-s', 'openapi/v0.0.38', `unix:${at(SLURM_SOCKET)}`],
      nobody,
    );
    await rest.until(() => existsSync(at(SLURM_SOCKET)));
    await slurmd.until(async () => (await nodeState(env)).startsWith('idle'));
    return { programs, port: 0 };
  } catch (error) {
    for (const program of Object.values(programs).reverse()) await program.stop();
    throw error;
  }
}

async function nodeState(env: NodeJS.ProcessEnv): Promise<string> {
  const sinfo = installed('sinfo') ?? '';
  const { stdout } = await promisify(execFile)(sinfo, ['-h', '-o', '%t'], {
    env: { ...process.env, ...env },
  });
  return stdout;
}

/** The fastest configuration: no accounting, no scheduling delays, one processor for each slot. */
async function configuration(at: (name: string) => string, slots: number): Promise<string> {
  const host = hostname().split('.')[0] ?? '';
  return `ClusterName=bench
SlurmctldHost=${host}(127.0.0.1)
SlurmctldPort=${await freePort()}
SlurmdPort=${await freePort()}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=${at('munge.sock')}
CredType=cred/munge
StateSaveLocation=${at('state')}
SlurmdSpoolDir=${at('spool')}
SlurmctldPidFile=${at('slurmctld.pid')}
SlurmdPidFile=${at('slurmd.pid')}
SlurmctldDebug=error
SlurmdDebug=error
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc=${at(SLURM_ENDED)}
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
PriorityType=priority/basic
SchedulerParameters=batch_sched_delay=0,default_queue_depth=2000,bf_interval=1
MaxJobCount=300000
MinJobAge=30
SlurmdParameters=config_overrides
NodeName=${host} NodeAddr=127.0.0.1 CPUs=${slots} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`;
}
