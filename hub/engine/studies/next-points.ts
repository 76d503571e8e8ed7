/** Points of a study that begin next, with the earlier results that they reuse. */
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { ActiveStudy } from '../../core/ports/studies.js';
import { reusedEndOf } from '../../core/studies/point-outcome.js';
import type { EarlierResults, FoundResults } from '../../core/studies/reuse/earlier-results.js';
import type { BegunPoint, Study } from '../../core/studies/study.js';
import { type PointValue, textOf } from '../../core/studies/variables.js';
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
export const REUSED_AT_A_TIME = 500;
/** Points that are looked up at a time, as most of them may have no result. */
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
      return variables.map((each) => ({ variables: each, bundle: null, notReused: null, end: null }));
    }
    const looked = await lookedUp(planned, planned.earlier, { begunCount, pointCount, most });
    const reused = await reuses(
      planned.study,
      looked.map(({ found }) => found),
      most,
      this.#options,
    );
    const nowMs = this.#options.runtime.clock.nowMs();
    const next = reused.map((reuse, index): BegunPoint => {
      const variables = looked[index]?.variables ?? [];
      // A text that was cut may end in half a character, which no database keeps.
      if ('miss' in reuse)
        return { variables, bundle: null, notReused: reuse.miss.toWellFormed(), end: null };
      const end = reusedEndOf(reuse.source, planned.study.definition, reuse.values, nowMs);
      return { variables, bundle: null, notReused: null, end };
    });
    return upTo(next, most, ({ end }) => end === null);
  }
}

interface LookedUp {
  readonly variables: readonly PointValue[];
  readonly found: FoundResults;
}

/** Search for the results of the next points; it ends before the point that would be one more than `most` without a result. */
async function lookedUp(
  planned: PlannedStudy,
  earlier: EarlierResults,
  { begunCount, pointCount, most }: Record<'begunCount' | 'pointCount' | 'most', number>,
): Promise<readonly LookedUp[]> {
  const looked: LookedUp[] = [];
  const end = Math.min(begunCount + REUSED_AT_A_TIME, pointCount);
  let room = most;
  for (let begun = begunCount; begun < end; ) {
    const last = Math.min(begun + LOOKED_UP_AT_A_TIME, end);
    for (const variables of await planned.points(begun + 1, last)) {
      const found = earlier.find(variables.map(textOf));
      if ('miss' in found && room-- <= 0) return looked;
      looked.push({ variables, found });
    }
    begun = last;
  }
  return looked;
}

/** The first elements, of which at most `most` are counted. */
function upTo<T>(all: readonly T[], most: number, isCounted: (each: T) => boolean): readonly T[] {
  let room = most;
  const end = all.findIndex((each) => isCounted(each) && room-- <= 0);
  return end < 0 ? all : all.slice(0, end);
}
