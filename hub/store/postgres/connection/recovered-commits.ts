/**
 * Commits of a server that has restarted. A commit that waited for its synchronous standby is there after a restart, whether or not
 * the standby has it. If the standby took over then, what was read would be gone. So before anything is read from such a server, a
 * commit of this hub's own has to reach the standby: it comes after all that is visible.
 */
import type pg from 'pg';

/** A server that does not wait for a standby has all commits on its own disk. */
const SERVER = `SELECT pg_postmaster_start_time()::text AS start,
  current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery() AS "waits"`;

/** Writes to the log of the server, and changes nothing. */
const COMMIT = `SELECT pg_logical_emit_message(true, 'workbench-hub', '')`;

/** The server ends a connection, or all of them, after which it recovers. */
const ENDS: ReadonlySet<string> = new Set(['57P01', '57P02', '57P03']);

interface Server {
  readonly start: string;
  readonly waits: boolean;
}

export class RecoveredCommits {
  /** Connections to servers whose commits are known to be on the standby. */
  #confirmed = new WeakSet<object>();
  #server: Server | undefined;

  /** Called with each failure of a connection: a server that recovers may do so without a new start. */
  failed(error: unknown): void {
    if (!ENDS.has(String((error as { readonly code?: unknown }).code))) return;
    this.#confirmed = new WeakSet();
    this.#server = undefined;
  }

  /** Called before each use of a connection. Rejects with errors of the driver. */
  async confirm(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
    const confirmed = this.#confirmed;
    if (confirmed.has(client)) return;
    const [server] = (await client.query<Server>(SERVER)).rows;
    if (server?.waits && this.#server?.start !== server.start) await client.query(COMMIT);
    confirmed.add(client);
    if (this.#confirmed === confirmed) this.#server = server;
  }
}
