/**
 * Plans of the prepared statements of a connection. To plan a batch takes the server as long as to run it, so a plan serves any
 * values; but one that was made for a small table reads it as a whole, and the server would keep it while the table grows to a
 * thousand times the size. So all plans of a connection are made anew when it has been used twice as often.
 */
import type pg from 'pg';

/** Rows are looked up by indexes, whose pages are in memory. Compilation takes longer than it saves. */
const FIRST =
  'SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET random_page_cost = 1.1; SET jit = off';
const AGAIN = 'DISCARD PLANS';

/** Uses after which plans are made anew in any case. */
const MAX_USES = 5000;

interface Uses {
  count: number;
  /** Number at which the plans are made anew. */
  renewalAt: number;
}

export class PlanRenewal {
  readonly #uses = new WeakMap<object, Uses>();

  /** Called before each use of a connection. Rejects with errors of the driver. */
  async renew(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
    const uses = this.#uses.get(client);
    if (!uses) {
      await client.query(FIRST);
      this.#uses.set(client, { count: 1, renewalAt: 2 });
      return;
    }
    if (++uses.count < uses.renewalAt) return;
    await client.query(AGAIN);
    uses.renewalAt = uses.count + Math.min(uses.count, MAX_USES);
  }
}
