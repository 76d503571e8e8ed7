/** A PostgreSQL server of a chaos run, and the link between it and the hub. */
import { readdirSync, readFileSync } from 'node:fs';
import { eventually } from '../support/eventually.js';
import { type OwnPostgresServer, startPostgres, type TestDatabase } from '../support/postgres.js';
import type { AuditedRow } from './audit.js';
import { FaultyProxy } from './faulty-proxy.js';

/** Time for which the remains of a killed server may keep a new one from starting. */
const START_LIMIT_MS = 20_000;

export class ChaosDatabase {
  readonly link: FaultyProxy;
  readonly #server: OwnPostgresServer;
  readonly #database: TestDatabase;

  private constructor(server: OwnPostgresServer, database: TestDatabase, link: FaultyProxy) {
    this.#server = server;
    this.#database = database;
    this.link = link;
  }

  static async start(): Promise<ChaosDatabase> {
    const server = await startPostgres();
    const link = await FaultyProxy.listen('127.0.0.1', server.port);
    return new ChaosDatabase(server, await server.create(), link);
  }

  /** Address of the database by way of the link. */
  get url(): string {
    const address = new URL(this.#database.url);
    address.port = String(this.link.port);
    return address.href;
  }

  /** Ends the server at once, and starts it again. */
  async kill(downMs: () => Promise<void>): Promise<void> {
    this.goOn();
    await this.#server.kill();
    await downMs();
    await this.#start();
  }

  /** Ends the server as its administrator does, and starts it again. */
  async restart(downMs: () => Promise<void>): Promise<void> {
    await this.#server.stop();
    await downMs();
    await this.#start();
  }

  /** Pauses the server with all of its processes. */
  pause(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGSTOP');
  }

  goOn(): void {
    for (const pid of this.#processes()) signal(pid, 'SIGCONT');
  }

  async recordEnds(): Promise<void> {
    await this.#database.query(`
      CREATE TABLE chaos_end (task_seq bigint NOT NULL, status text NOT NULL);
      CREATE FUNCTION chaos_record() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO chaos_end VALUES (NEW.seq, NEW.status); RETURN NULL; END';
      CREATE TRIGGER chaos_task_ended AFTER UPDATE ON task FOR EACH ROW
        WHEN (NEW.ended_at IS NOT NULL AND (OLD.ended_at IS NULL OR NEW.status <> OLD.status))
        EXECUTE FUNCTION chaos_record();`);
  }

  async rows(): Promise<ReadonlyMap<string, AuditedRow>> {
    const rows = await this.#database.query<{ id: string } & AuditedRow>(`
      SELECT task_request.id, task.status, task.ended_at::float8 AS "endedAt",
        ARRAY(SELECT status FROM chaos_end WHERE chaos_end.task_seq = task.seq) AS ends
      FROM task JOIN task_request ON task_request.task_seq = task.seq`);
    return new Map(rows.map(({ id, ...row }) => [id, row]));
  }

  async release(): Promise<void> {
    this.goOn();
    await this.link.close();
    await this.#server.end();
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
