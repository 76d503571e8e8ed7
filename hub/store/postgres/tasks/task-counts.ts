/** Adds up the numbers of tasks of each kind, which every change of tasks appends to. */
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';

/** Batches after which the rows are added up: each appends a few. */
const FOLD_EVERY = 256;

const FOLD: LaneWrite<null, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: {},
    parts: `
      former AS (DELETE FROM task_count USING held RETURNING kind, tasks),
      folded AS (INSERT INTO task_count SELECT kind, sum(tasks) FROM former GROUP BY kind HAVING sum(tasks) <> 0)`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => [],
  values: () => ({}),
  results: (calls) => calls.map(() => null),
};

export class TaskCounts {
  readonly #lanes: () => Lanes;
  readonly #foldEvery: number;
  #batches = 0;

  constructor(lanes: () => Lanes, foldEvery = FOLD_EVERY) {
    this.#lanes = lanes;
    this.#foldEvery = foldEvery;
  }

  /** A batch took place. */
  written(): void {
    if (++this.#batches % this.#foldEvery !== 0) return;
    // The next time does what a failure leaves.
    this.#lanes()
      .side.write(FOLD, null)
      .catch(() => undefined);
  }
}
