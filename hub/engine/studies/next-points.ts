/** Points of a study that begin next, with the earlier results that they reuse. */
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { ActiveStudy } from '../../core/ports/studies.js';
import { reusedEndOf } from '../../core/studies/point-outcome.js';
import type { EarlierResults } from '../../core/studies/reuse/earlier-results.js';
import type { BegunPoint, Study } from '../../core/studies/study.js';
import type { PointValue } from '../../core/studies/variables.js';
import { type EarlierResultsReaderOptions, readEarlierResults } from './earlier-results-reader.js';
import type { PlannedStudy } from './planned-study.js';
import { type PointReuseOptions, reuses } from './point-reuse.js';

export interface NextPointsOptions
  extends PointReuseOptions,
    Pick<EarlierResultsReaderOptions, 'defaultVersion'> {
  readonly studies: EarlierResultsReaderOptions['studies'];
  readonly archive: PointReuseOptions['archive'] & EarlierResultsReaderOptions['archive'];
  readonly runtime: { readonly clock: Clock; readonly timers: Timers };
}

/** Points that begin with a reused result at a time, in one write. */
const REUSED_AT_A_TIME = 200;
/** Points whose earlier results are looked up at a time: values that were not read before are read of all of them. */
const LOOKED_UP_AT_A_TIME = 16;

export class NextPoints {
  readonly #options: NextPointsOptions;

  constructor(options: NextPointsOptions) {
    this.#options = options;
  }

  /** Results that points of a study may reuse. Rejects as the store does. */
  earlierOf(study: Study): Promise<EarlierResults> {
    return readEarlierResults(study, { ...this.#options, timers: this.#options.runtime.timers });
  }

  /** The points after the number `begunCount`: at most `most` that get a task, and those before them that reuse a result. Rejects as the
   *  store and `readValues` do. */
  async after(
    planned: PlannedStudy,
    { begunCount, pointCount }: Pick<ActiveStudy, 'begunCount' | 'pointCount'>,
    most: number,
  ): Promise<readonly BegunPoint[]> {
    if (planned.earlier === undefined) {
      const variables = await planned.points(begunCount + 1, Math.min(begunCount + most, pointCount));
      return variables.map((each) => ({ variables: each, notReused: null, end: null }));
    }
    const next: BegunPoint[] = [];
    let room = most;
    for (let begun = begunCount; begun < pointCount && next.length < REUSED_AT_A_TIME; ) {
      const last = Math.min(begun + LOOKED_UP_AT_A_TIME, pointCount);
      const variables = await planned.points(begun + 1, last);
      for (const point of await this.#reused(planned.study, planned.earlier, variables)) {
        if (point.end === null && room-- <= 0) return next;
        next.push(point);
      }
      begun = last;
    }
    return next;
  }

  async #reused(
    study: Study,
    earlier: EarlierResults,
    points: readonly (readonly PointValue[])[],
  ): Promise<readonly BegunPoint[]> {
    const found = await reuses(study, earlier, points, this.#options);
    const nowMs = this.#options.runtime.clock.nowMs();
    return found.map((reuse, index): BegunPoint => {
      const variables = points[index] ?? [];
      if ('miss' in reuse) return { variables, notReused: reuse.miss, end: null };
      const end = reusedEndOf(reuse.source, study.definition, reuse.values, nowMs);
      return { variables, notReused: null, end };
    });
  }
}
