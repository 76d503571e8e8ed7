/**
 * Commits of a server that has restarted. A commit that waited for its synchronous standby is there after a restart, whether or not
 * the standby has it. If the standby took over then, what was read would be gone. So before anything is read from such a server, a
 * commit of this hub's own has to reach the standby: it comes after all that is visible.
 */
import type pg from 'pg';

/** The latest recovery of the server: a new start, or one after the end of one of its processes, at which it loses its statistics. A
 *  server that does not wait for a standby has all commits on its own disk. */
const SERVER = `SELECT concat_ws(' ', pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_archiver)) AS recovery,
  current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery() AS "waits"`;

/** Writes to the log of the server, and changes nothing. */
const COMMIT = `SELECT pg_logical_emit_message(true, 'workbench-hub', '')`;

interface Server {
  readonly recovery: string;
  readonly waits: boolean;
}

export class RecoveredCommits {
  /** Connections to servers whose commits are known to be on the standby. */
  readonly #confirmed = new WeakSet<object>();
  #server: Server | undefined;

  /** Called before each use of a connection. Rejects with errors of the driver. */
  async confirm(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
    if (this.#confirmed.has(client)) return;
    const [server] = (await client.query<Server>(SERVER)).rows;
    if (server?.waits && this.#server?.recovery !== server.recovery) await client.query(COMMIT);
    this.#confirmed.add(client);
    this.#server = server;
  }
}
