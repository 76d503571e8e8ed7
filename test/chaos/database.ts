/** A PostgreSQL server of a chaos run, the links between it and the hubs, and its synchronous standby, if there is one. */
import { readdirSync, readFileSync } from 'node:fs';
import { eventually } from '../support/eventually.js';
import {
  hasSynchronousStandby,
  type OwnPostgresServer,
  queryAt,
  startPostgres,
  startStandby,
  waitForStandby,
} from '../support/stores/postgres.js';
import type { AuditedRow } from './audit.js';
import { FaultyProxy } from './faulty-proxy.js';
import { nowS } from './runs.js';

/** Time for which the remains of a killed server may keep a new one from starting. */
const START_LIMIT_MS = 20_000;
/** Time in which a standby follows its primary again, after faults of that. */
const FOLLOW_LIMIT_MS = 30_000;
/** Interval in which a standby tries to connect to its primary. */
const STANDBY = { wal_retrieve_retry_interval: '500ms' };

export class ChaosDatabase {
  /** One for each hub. */
  readonly links: readonly FaultyProxy[];
  /** Times of its crashes, by the clock of the runs. */
  readonly crashesS: number[] = [];
  readonly #name: string;
  #server: OwnPostgresServer;
  #standby: OwnPostgresServer | undefined;
  /** A server that a standby has replaced. */
  #former: OwnPostgresServer | undefined;

  private constructor(
    servers: readonly [OwnPostgresServer, OwnPostgresServer | undefined],
    name: string,
    links: readonly FaultyProxy[],
  ) {
    [this.#server, this.#standby] = servers;
    this.#name = name;
    this.links = links;
  }

  /** Starts a server for this many hubs; for several with a standby, for which commits wait. */
  static async start(hubs: number): Promise<ChaosDatabase> {
    const server = await startPostgres();
    const { name } = await server.create();
    let standby: OwnPostgresServer | undefined;
    if (hubs > 1) {
      standby = await startStandby(server, STANDBY);
      await waitForStandby(server);
    }
    const links: FaultyProxy[] = [];
    for (let hub = 0; hub < hubs; hub++) links.push(await FaultyProxy.listen('127.0.0.1', server.port));
    return new ChaosDatabase([server, standby], name, links);
  }

  /** Whether it can still fail over. */
  get hasStandby(): boolean {
    return this.#standby !== undefined;
  }

  /** Address of the database by way of a link. */
  urlBy(link: FaultyProxy): string {
    const address = new URL(this.#url);
    address.port = String(link.port);
    return address.href;
  }

  /** Ends the server at once, and starts it again. */
  async kill(downMs: () => Promise<void>): Promise<void> {
    await this.#crash();
    await downMs();
    await this.#start();
  }

  /** Ends the server as its administrator does, and starts it again. */
  async restart(downMs: () => Promise<void>): Promise<void> {
    await this.#server.stop();
    await downMs();
    await this.#start();
  }

  /** Ends the server for good, and promotes its standby. As a failover manager does, it waits until commits wait for the standby. */
  async failOver(downMs: () => Promise<void>): Promise<void> {
    const standby = this.#standby;
    if (!standby) throw new Error('the database has no standby');
    this.goOn();
    await eventually(() => hasSynchronousStandby(this.#server), FOLLOW_LIMIT_MS);
    await this.#crash();
    await downMs();
    await queryAt(standby.url('postgres'), 'SELECT pg_promote()');
    this.#former = this.#server;
    this.#server = standby;
    this.#standby = undefined;
    for (const link of this.links) {
      link.targetPort = standby.port;
      link.cut();
    }
  }

  /** Pauses the server with all of its processes. */
  pause(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGSTOP');
  }

  goOn(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGCONT');
  }

  async recordEnds(): Promise<void> {
    await queryAt(
      this.#url,
      `CREATE TABLE chaos_end (task_seq bigint NOT NULL, status text NOT NULL);
      CREATE FUNCTION chaos_record() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO chaos_end VALUES (NEW.seq, NEW.status); RETURN NULL; END';
      CREATE TRIGGER chaos_task_ended AFTER UPDATE ON task FOR EACH ROW
        WHEN (NEW.ended_at IS NOT NULL AND (OLD.ended_at IS NULL OR NEW.status <> OLD.status))
        EXECUTE FUNCTION chaos_record();`,
    );
  }

  async rows(): Promise<ReadonlyMap<string, AuditedRow>> {
    const rows = await queryAt<{ id: string } & AuditedRow>(
      this.#url,
      `SELECT task_request.id, task.status, task.ended_at::float8 AS "endedAt",
        ARRAY(SELECT status FROM chaos_end WHERE chaos_end.task_seq = task.seq) AS ends,
        EXISTS (SELECT FROM former_attempt WHERE former_attempt.task_seq = task.seq AND loss = 'LOSS') AS "hasLost"
      FROM task JOIN task_request ON task_request.task_seq = task.seq`,
    );
    return new Map(rows.map(({ id, ...row }) => [id, row]));
  }

  /** Number of rows of each table. */
  async rowCounts(): Promise<ReadonlyMap<string, number>> {
    const tables = await queryAt<{ name: string; quoted: string }>(
      this.#url,
      `SELECT table_name AS name, quote_ident(table_schema) || '.' || quote_ident(table_name) AS quoted
      FROM information_schema.tables
      WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
    );
    const counts = await queryAt<{ name: string; count: number }>(
      this.#url,
      tables
        .map(({ name, quoted }) => `SELECT '${name}' AS name, count(*)::float8 AS count FROM ${quoted}`)
        .join(' UNION ALL '),
    );
    return new Map(counts.map(({ name, count }) => [name, count]));
  }

  /** Number of rows of a table that meet a condition. */
  async countWhere(table: string, condition: string): Promise<number> {
    const text = `SELECT count(*)::float8 AS count FROM ${table} WHERE ${condition}`;
    const [row] = await queryAt<{ count: number }>(this.#url, text);
    return row?.count ?? 0;
  }

  /** Number of connections of the hubs. */
  async connections(): Promise<number> {
    const [row] = await queryAt<{ count: number }>(
      this.#url,
      `SELECT count(*)::float8 AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    );
    return row?.count ?? 0;
  }

  async release(): Promise<void> {
    this.goOn();
    for (const link of this.links) await link.close();
    for (const server of [this.#standby, this.#server, this.#former]) await server?.end();
  }

  get #url(): string {
    return this.#server.url(this.#name);
  }

  async #crash(): Promise<void> {
    this.goOn();
    this.crashesS.push(nowS());
    await this.#server.kill();
  }

  async #start(): Promise<void> {
    let failure: unknown;
    const hasStarted = () =>
      this.#server.start().then(
        () => true,
        (error: unknown) => {
          failure = error;
          return false;
        },
      );
    await eventually(hasStarted, START_LIMIT_MS).catch(() => {
      throw new Error('the database server does not start', { cause: failure });
    });
  }

  #processes(): number[] {
    const { pid } = this.#server;
    const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
    return [pid, ...children.map(Number)];
  }
}

function parentOf(pid: string): number | undefined {
  try {
    // The name of the program, in brackets, may have spaces.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]);
  } catch {
    return undefined; // it has ended meanwhile
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended meanwhile
  }
}
