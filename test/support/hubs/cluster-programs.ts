/** Hubs of one PostgreSQL database as real processes, each with a link to the database that a test can break. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../eventually.js';
import { endPrograms, type HubProgram, startHub } from '../programs/programs.js';
import { keepSecret } from '../secrets.js';
import type { PostgresServer, TestDatabase } from '../stores/postgres.js';
import { PostgresProxy } from '../stores/postgres-proxy.js';
import { CLUSTER_KEY } from './cluster-key.js';

/** The join token of all hubs. */
const TOKEN = 'token-of-the-cluster';

export interface ClusterHub extends HubProgram {
  readonly name: string;
  /** Id of the hub in the database. */
  readonly hubId: string;
  /** Address and join token, as agents need them. */
  readonly address: string;
  readonly token: string;
  /** Folder of the configuration file; the data folder is `hub` in it. */
  readonly folder: string;
  /** Link to the database. */
  readonly link: PostgresProxy;
}

export interface ClusterHubSetup {
  /** Added to the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Command that wraps the program. */
  readonly by?: readonly string[];
}

export class ClusterPrograms {
  readonly database: TestDatabase;
  readonly #folder: string;
  readonly #links = new Map<string, PostgresProxy>();
  readonly #ports = new Map<string, number>();
  readonly #stopped = new Set<ClusterHub>();

  constructor(folder: string, database: TestDatabase) {
    this.#folder = folder;
    this.database = database;
    keepSecret(TOKEN);
  }

  /** Starts hubs with these names, one after the other. */
  async startAll(names: readonly string[]): Promise<ClusterHub[]> {
    const hubs: ClusterHub[] = [];
    for (const name of names) hubs.push(await this.start(name));
    return hubs;
  }

  /** Starts a hub; the second time, on the data folder and at the address of the first. Rejects when it does not start. */
  async start(name: string, { config = {}, by }: ClusterHubSetup = {}): Promise<ClusterHub> {
    const folder = join(this.#folder, name);
    mkdirSync(folder, { recursive: true });
    const link = await this.#linkOf(name);
    const settings = {
      store: link.through(this.database.url),
      storage: { folder: join(this.#folder, 'blobs'), encryptionKey: CLUSTER_KEY },
      agents: { token: TOKEN },
      ...config,
    };
    const program = await startHub(folder, settings, this.#ports.get(name) ?? 0, by);
    const opened = program.lines.find((line) => typeof line['hubId'] === 'string');
    this.#ports.set(name, Number(new URL(program.baseUrl).port));
    const hubId = String(opened?.['hubId']);
    return Object.assign(program, { name, hubId, address: program.baseUrl, token: TOKEN, folder, link });
  }

  /** Pauses a hub (SIGSTOP). */
  pause(hub: ClusterHub): void {
    this.#stopped.add(hub);
    hub.process.kill('SIGSTOP');
  }

  goOn(hub: ClusterHub): void {
    this.#stopped.delete(hub);
    hub.process.kill('SIGCONT');
  }

  /** The hub among these that has the role of the scheduler. */
  scheduler(hubs: readonly ClusterHub[]): Promise<ClusterHub> {
    return eventually(async () => {
      const [row] = await this.database.query<{ holder: string }>(
        'SELECT holder FROM scheduler_term WHERE until > clock_timestamp()',
      );
      return hubs.find(({ hubId }) => hubId === row?.holder);
    });
  }

  /** Milliseconds until another hub of these schedules, from now on. */
  async untilOtherSchedules(hubs: readonly ClusterHub[]): Promise<number> {
    const sinceMs = performance.now();
    await this.scheduler(hubs);
    return performance.now() - sinceMs;
  }

  /** Tasks with their ends, as the database has them. */
  tasks(): Promise<{ id: string; status: string; attempt: number }[]> {
    return this.database.query(
      'SELECT task_request.id, task.status, task.attempt FROM task JOIN task_request ON task_request.task_seq = task.seq',
    );
  }

  /** Ends all programs and the links; the database stays. */
  async end(): Promise<void> {
    for (const hub of this.#stopped) hub.process.kill('SIGCONT');
    await endPrograms();
    for (const link of this.#links.values()) await link.close();
  }

  /** Leads the links to another server. */
  moveTo(server: Pick<PostgresServer, 'port'>): void {
    for (const link of this.#links.values()) link.target = server.port;
  }

  async #linkOf(name: string): Promise<PostgresProxy> {
    const known = this.#links.get(name);
    if (known) return known;
    const link = await PostgresProxy.listen(this.database.server.port);
    this.#links.set(name, link);
    return link;
  }
}
