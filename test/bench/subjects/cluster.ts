/** Hubs on one PostgreSQL server, with their default settings, and agents that spread over them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLUSTER_KEY } from '../../support/hubs/cluster-key.js';
import type { OwnPostgresServer, TestDatabase } from '../../support/stores/postgres.js';
import { ROOT } from './hub.js';
import { startServer } from './postgres.js';
import { ServerProgram } from './server-program.js';

export interface ClusterSetup {
  /** A folder of its own, empty. */
  readonly folder: string;
  /** Number of hubs. */
  readonly hubs: number;
  /** Number of agents, each with as many instances; none by default. */
  readonly agents?: number;
  readonly instancesEach?: number;
}

export interface ClusterHub {
  readonly program: ServerProgram;
  /** `http://127.0.0.1:49152` */
  readonly address: string;
  readonly port: number;
}

/** A hub, as the cluster lists it. */
export interface ListedHub {
  readonly status: string;
  readonly scheduler: boolean;
  /** Whether it is the one that was asked. */
  readonly responding: boolean;
  readonly agents: number;
}

export interface RunningCluster {
  readonly hubs: readonly ClusterHub[];
  /** Secret of all agents. */
  readonly token: string;
  readonly server: OwnPostgresServer;
  readonly database: TestDatabase;
  /** Processes of the agents. */
  readonly agents: readonly ServerProgram[];
  stop(): Promise<void>;
}

const LOOK_LIMIT_MS = 10_000;

/** Resolves when all hubs list each other, one of them schedules, and all instances are up. */
export async function startCluster(setup: ClusterSetup): Promise<RunningCluster> {
  const { folder, hubs: count, agents: agentCount = 0, instancesEach = 0 } = setup;
  const server = await startServer();
  const programs: ServerProgram[] = [];
  const stop = async () => {
    for (const program of programs.splice(0).reverse()) await program.stop();
    await server.end();
  };
  const start = (name: string, workspace: 'hub' | 'agent', config: Record<string, unknown>) => {
    const own = join(folder, name);
    mkdirSync(own);
    const file = join(own, `${workspace}.yaml`);
    writeFileSync(file, JSON.stringify({ ...config, dataDir: join(own, 'data') }));
    const args = [join(ROOT, workspace, `bin/workbench-${workspace}.js`), '--config', file];
    const program = new ServerProgram(name, process.execPath, args, { folder: own });
    programs.push(program);
    return program;
  };
  try {
    const database = await server.create();
    const storage = { folder: join(folder, 'blobs'), encryptionKey: CLUSTER_KEY };
    const shared = { server: { port: 0 }, store: database.url, storage };
    const hubs: ClusterHub[] = [];
    for (let at = 1; at <= count; at++) {
      const program = start(`hub-${at}`, 'hub', shared);
      const address = await program.until(() => /"address":"([^"]+)"/.exec(program.output())?.[1]);
      hubs.push({ program, address, port: Number(new URL(address).port) });
    }
    const tokenFile = join(folder, 'hub-1', 'data', 'agent-token');
    const agents = Array.from({ length: agentCount }, (_, at) =>
      start(`agent-${at}`, 'agent', {
        ...{ id: `agent-${at}`, hub: hubs.map(({ address }) => address.replace('http', 'ws')), tokenFile },
        instances: [{ id: `sim-${at}`, count: instancesEach, version: '1.0.0', labels: [] }],
      }),
    );
    for (const { program, address } of hubs) {
      await program.until(async () => {
        const listed = await listedHubs(address);
        const isWhole = listed.length === count && listed.some(({ scheduler }) => scheduler);
        return isWhole && (await instancesUp(address)) === agentCount * instancesEach;
      });
    }
    const token = readFileSync(tokenFile, 'utf8').trim();
    return { hubs, token, server, database, agents, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Hubs of the cluster, as one of them lists them. */
export async function listedHubs(address: string): Promise<readonly ListedHub[]> {
  const response = await fetch(`${address}/api/x/hubs`, { signal: AbortSignal.timeout(LOOK_LIMIT_MS) });
  return ((await response.json()) as { content: readonly ListedHub[] }).content;
}

/** Instances that are up, as a hub lists them. */
export async function instancesUp(address: string): Promise<number> {
  const list = `${address}/api/2.0/workbench/node/instance/list?status=UP&size=1`;
  const response = await fetch(list, { signal: AbortSignal.timeout(LOOK_LIMIT_MS) });
  return ((await response.json()) as { totalElements: number }).totalElements;
}

/** The hub that schedules, and the others. */
export async function rolesOf({ hubs }: Pick<RunningCluster, 'hubs'>): Promise<{
  readonly scheduler: ClusterHub;
  readonly others: readonly ClusterHub[];
}> {
  for (const hub of hubs) {
    const own = (await listedHubs(hub.address)).find(({ responding }) => responding);
    if (own?.scheduler) return { scheduler: hub, others: hubs.filter((other) => other !== hub) };
  }
  throw new Error('no hub schedules');
}
