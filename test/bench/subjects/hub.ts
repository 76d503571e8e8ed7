/** The product as a user gets it: a hub with its default settings, two agents, instance programs that run scripts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingPostgres, startServer } from './postgres.js';
import { ServerProgram } from './server-program.js';
import type { RunningSubject, Subject, SubjectSetup } from './subject.js';

// This file runs from its source in tests, and from what was compiled of it in the benchmark.
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/test[/\\]$/, '');

const AGENTS = ['a', 'b'] as const;

/** Configuration of an instance of the agent. */
export interface InstanceClass {
  readonly version: string;
  readonly labels: readonly string[];
  /** Instance program; the runner by default. */
  readonly command?: readonly string[];
}

export interface HubOptions {
  /** Ids of the agents, which share the slots equally; two by default. */
  readonly agents?: readonly string[];
  /** Configuration of each agent, by default the same for all. */
  readonly instances?: readonly InstanceClass[];
  /** Address of the database in which it keeps its tasks, instead of SQLite. */
  readonly store?: string | undefined;
  /** Further settings of the hub. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Whether the agents join another hub, which joins this one and lends it their instances. */
  readonly overSite?: boolean;
}

export interface RunningHub extends RunningSubject {
  readonly hub: ServerProgram;
  readonly pids: Map<string, number>;
  readonly dataDir: string;
  /** Resolves when all instances are up. */
  allUp(): Promise<void>;
}

/** The usual one of 1 ms wakes each of twenty processes a thousand times a second. */
const PROFILE_INTERVAL_US = 5000;

const RUNNER = [
  process.execPath,
  join(ROOT, 'packages/runner/bin/workbench-runner.js'),
  '--interpreter',
  'node',
];

const SAME: InstanceClass = { version: '1.0.0', labels: [] };

export const hub: Subject = {
  name: 'hub',
  missing: () => undefined,
  start: (setup) => startHub(setup),
};

/** The same beside one on PostgreSQL. */
export const hubOnSqlite: Subject = { ...hub, name: 'hub on sqlite' };

/** Its instances are lent by another hub, which has joined it. */
export const hubOverSite: Subject = {
  name: 'hub over a site',
  missing: () => undefined,
  start: (setup) => startHub(setup, { overSite: true }),
};

/** With a server of its own, whose processes count. */
export const hubOnPostgres: Subject = {
  name: 'hub on postgres',
  missing: missingPostgres,
  start: startOnPostgres,
};

async function startOnPostgres(setup: SubjectSetup): Promise<RunningSubject> {
  const server = await startServer();
  try {
    const { url } = await server.create();
    const running = await startHub(setup, { store: url });
    return {
      ...running,
      pids: running.pids.set('postgres', server.pid),
      stop: async () => {
        await running.stop();
        await server.end();
      },
    };
  } catch (error) {
    await server.end();
    throw error;
  }
}

export async function startHub(
  { folder, slots, paused, profiles }: SubjectSetup,
  { agents = AGENTS, instances = [], store, settings = {}, overSite = false }: HubOptions = {},
): Promise<RunningHub> {
  const programs: ServerProgram[] = [];
  const stop = async () => {
    for (const program of programs.splice(0).reverse()) await program.stop();
  };
  const start = (name: string, workspace: 'hub' | 'agent', config: Record<string, unknown>) => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, JSON.stringify(config));
    const profile = profiles === undefined ? [] : profiling(profiles, name.replace(' ', '-'));
    // Profiles name the functions by their modules, which the bundle does not have.
    const script = profiles === undefined ? `bin/workbench-${workspace}.js` : 'dist/main.js';
    const args = [...profile, join(ROOT, workspace, script), '--config', file];
    const program = new ServerProgram(name, process.execPath, args, { folder });
    programs.push(program);
    return program;
  };
  try {
    const dataDir = join(folder, 'hub-data');
    const kept = store === undefined ? {} : { store };
    const program = start('hub', 'hub', { server: { port: 0 }, dataDir, ...kept, ...settings });
    const address = await program.until(() => /"address":"([^"]+)"/.exec(program.output())?.[1]);
    const pids = new Map([['hub', program.pid]]);
    const tokenFile = join(dataDir, 'agent-token');
    const joined = { address, tokenFile };
    if (overSite) {
      const siteDir = join(folder, 'site-data');
      const upstreams = [{ name: 'hq', id: 'site', url: address.replace('http', 'ws'), tokenFile }];
      const site = start('site', 'hub', { server: { port: 0 }, dataDir: siteDir, upstreams });
      joined.address = await site.until(() => /"address":"([^"]+)"/.exec(site.output())?.[1]);
      joined.tokenFile = join(siteDir, 'agent-token');
      pids.set('site', site.pid);
    }
    const resume = async () => {
      for (const [at, id] of agents.entries()) {
        const count = slots / agents.length;
        const config = {
          id,
          hub: joined.address.replace('http', 'ws'),
          tokenFile: joined.tokenFile,
          dataDir: join(folder, `agent-${id}`),
          instances: [{ id: `sim-${id}`, count, ...profiled(instances[at] ?? SAME, profiles) }],
        };
        const agent = start(`agent ${id}`, 'agent', config);
        pids.set(`agent ${id}`, agent.pid);
      }
    };
    const allUp = async () => {
      await program.until(async () => (await instancesUp(address)) === slots);
    };
    if (!paused) {
      await resume();
      await allUp();
    }
    const port = Number(new URL(address).port);
    return { hub: program, dataDir, port, dialect: 'HUB', pids, resume, allUp, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Same class, with a program that leaves profiles. */
function profiled({ command = RUNNER, ...rest }: InstanceClass, profiles: string | undefined): InstanceClass {
  if (profiles === undefined) return command === RUNNER ? rest : { ...rest, command };
  const [node = process.execPath, ...script] = command;
  return { ...rest, command: [node, ...profiling(profiles, 'instances'), ...script] };
}

/** Options of Node.js for a process that leaves profiles of its threads in a folder of this name. */
function profiling(profiles: string, name: string): string[] {
  return [
    '--cpu-prof',
    `--cpu-prof-dir=${join(profiles, name)}`,
    `--cpu-prof-interval=${PROFILE_INTERVAL_US}`,
  ];
}

async function instancesUp(address: string): Promise<number> {
  const response = await fetch(`${address}/api/2.0/workbench/node/instance/list?status=UP`);
  return ((await response.json()) as { totalElements: number }).totalElements;
}
