/** The lock of a database, an advisory lock of a connection of its own, with which it ends: hubs share it, and a command that must be
 *  alone, such as a migration, has it alone. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pause } from '@workbench-hub/shared/runtime/pause';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { type Connection, type Database, type Queries, statement } from './pool.js';

export interface HubLockOptions {
  /** SHARED: with other hubs. ALONE: by nobody else. */
  readonly mode: 'SHARED' | 'ALONE';
  readonly timers: Timers;
  /** Null in commands, which print errors. */
  readonly log: Logger | null;
  /** Called with a `StartRefused` when the connection broke and another process has taken the lock for itself since: this one must
   *  end. */
  readonly onTaken: (refusal: StartRefused) => void;
}

export interface HubLock {
  release(): Promise<void>;
}

// The second key is the version of what the lock means.
const KEYS = { classid: 0x7762_6875, objid: 1 };
const TRY = {
  ALONE: statement(`SELECT pg_try_advisory_lock(${KEYS.classid}, ${KEYS.objid}) AS taken`),
  SHARED: statement(`SELECT pg_try_advisory_lock_shared(${KEYS.classid}, ${KEYS.objid}) AS taken`),
};
// The address is visible to the same user, and to administrators.
const HOLDER = statement(`
  SELECT activity.pid, activity.backend_start::text AS began, activity.application_name AS name,
    host(activity.client_addr) AS address, to_char(activity.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
  FROM pg_locks JOIN pg_stat_activity AS activity USING (pid)
  WHERE pg_locks.locktype = 'advisory' AND pg_locks.classid = ${KEYS.classid} AND pg_locks.objid = ${KEYS.objid}
    AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pg_locks.granted`);
const OWN = statement(
  'SELECT pid, backend_start::text AS began FROM pg_stat_activity WHERE pid = pg_backend_pid()',
);
const TERMINATE = statement('SELECT pg_terminate_backend($1)');
/** Without it, the server would keep the lock of a host that has lost its power for hours. */
const KEEP_ALIVE =
  'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3';

/** Time for which a hub that is just ending is waited for. */
const WAIT_MS = 3000;
const POLL_EVERY_MS = 200;
const RECONNECT_EVERY_MS = 500;

/** A connection, as the server knows it. */
interface Session {
  readonly pid: number;
  readonly began: string;
}

interface Holder extends Session {
  readonly name: string;
  readonly address: string | null;
  readonly since: string;
}

/** Takes the lock and keeps it until its release, over interruptions of the connection. Rejects with `StartRefused` while
 *  others have it in a way that excludes this, and with `DatabaseFault`. */
export async function lockDatabase(database: Database, options: HubLockOptions): Promise<HubLock> {
  const { timers, mode } = options;
  const connection = await connect(database);
  try {
    for (let waitedMs = 0; !(await take(connection, mode)); waitedMs += POLL_EVERY_MS) {
      if (waitedMs >= WAIT_MS) throw refusalBy(await holderOf(connection), database, mode);
      await pause(timers, POLL_EVERY_MS);
    }
    return new KeptLock(database, connection, await sessionOf(connection), options);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Whether a hub, or a command that must be alone, has the lock. Rejects with `DatabaseFault`. */
export async function isLocked(database: Database): Promise<boolean> {
  return (await holderOf(database)) !== undefined;
}

class KeptLock implements HubLock {
  readonly #database: Database;
  readonly #options: HubLockOptions;
  #connection: Connection;
  /** The latest session that had the lock. */
  #session: Session;
  #isReleased = false;

  constructor(database: Database, connection: Connection, session: Session, options: HubLockOptions) {
    this.#database = database;
    this.#connection = connection;
    this.#session = session;
    this.#options = options;
    this.#watch();
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#connection.close().catch(() => undefined);
  }

  #watch(): void {
    void this.#connection.ended.then((fault) => {
      if (this.#isReleased || fault === null) return;
      this.#options.log?.warn(
        { err: fault },
        'the connection that locks the database broke; it is opened again',
      );
      void this.#retake();
    });
  }

  async #retake(): Promise<void> {
    while (!this.#isReleased) {
      const connection = await connect(this.#database).catch(() => undefined);
      const outcome = connection && (await this.#takeOn(connection).catch(() => undefined));
      if (outcome === 'TAKEN') return this.#watch();
      await connection?.close().catch(() => undefined);
      if (outcome !== undefined) return this.#options.onTaken(outcome);
      await pause(this.#options.timers, RECONNECT_EVERY_MS);
    }
  }

  /** Undefined: to be tried again. */
  async #takeOn(connection: Connection): Promise<'TAKEN' | StartRefused | undefined> {
    if (await take(connection, this.#options.mode)) {
      this.#session = await sessionOf(connection);
      this.#connection = connection;
      return 'TAKEN';
    }
    const holder = await holderOf(connection);
    if (holder === undefined) return undefined;
    const { pid, began } = this.#session;
    if (holder.pid !== pid || holder.began !== began)
      return refusalBy(holder, this.#database, this.#options.mode);
    // The server has not noticed yet that the former connection broke.
    await connection.rows(TERMINATE, [pid]);
    return undefined;
  }
}

async function connect(database: Database): Promise<Connection> {
  const connection = await database.connect();
  try {
    await connection.script(KEEP_ALIVE);
    return connection;
  } catch (error) {
    await connection.close().catch(() => undefined);
    throw error;
  }
}

async function take(connection: Connection, mode: HubLockOptions['mode']): Promise<boolean> {
  return (await connection.rows<{ taken: boolean }>(TRY[mode]))[0]?.taken ?? false;
}

async function sessionOf(connection: Connection): Promise<Session> {
  return (await connection.rows<Session>(OWN))[0] as Session;
}

async function holderOf(connection: Queries): Promise<Holder | undefined> {
  return (await connection.rows<Holder>(HOLDER))[0];
}

function refusalBy(
  holder: Holder | undefined,
  { location }: Database,
  mode: HubLockOptions['mode'],
): StartRefused {
  const [other, remedy] =
    mode === 'ALONE'
      ? ['another hub', 'runs on it; stop that hub first']
      : ['a command', 'works on it alone; start the hub when it has ended'];
  const who =
    holder === undefined
      ? other
      : `${other} (${holder.name}, from ${holder.address ?? 'an address that this user may not see'}, since ${holder.since})`;
  return new StartRefused(`the database ${location} is in use: ${who} ${remedy}`);
}
