/** A study with its points, as far as they were needed. */
import { MAX_BUNDLED_POINTS } from '@workbench-hub/shared/domain/point-results';
import type { EndedPoint, OpenPoint, Studies } from '../../core/ports/studies.js';
import type { PlannedPoints } from '../../core/studies/planned-points.js';
import { planned } from '../../core/studies/plans.js';
import type { EarlierResults } from '../../core/studies/reuse/earlier-results.js';
import type { Study } from '../../core/studies/study.js';
import type { PointValue } from '../../core/studies/variables.js';
import type { Task } from '../../core/task.js';
import { Pace } from './pace.js';
import { taskIdOf } from './point-tasks.js';

/** Bundles in a row with points that were not run, after which each point gets a task of its own: the others will be like them. */
const MOST_GIVEN_BACK = 3;

/** Time for which earlier results are kept while no point begins. */
const EARLIER_KEPT_MS = 60_000;

interface Part {
  readonly first: number;
  readonly points: PlannedPoints;
}

export interface EarlierReading {
  read(): Promise<EarlierResults>;
  onRead(): void;
  onFault(error: unknown): void;
}

type Try = Pick<OpenPoint, 'number' | 'tries' | 'bundle'>;

export class PlannedStudy {
  readonly study: Study;
  /** Whether values were read of any point, or none are wanted. */
  hasResults = false;
  readonly pace = new Pace();
  readonly #studies: Pick<Studies, 'partWith'>;
  /** The part that was needed last. */
  #part: Part | undefined;
  #earlier: EarlierResults | undefined;
  #isReadingEarlier = false;
  /** Time by the clock that is never set since which no further point waits to begin. */
  #restsSinceMs: number | undefined;
  /** Ids of the tasks of open points: to compute one is a digest. */
  readonly #taskIds = new Map<string, Task['id']>();
  /** The latest bundles in a row of which some points were not run. */
  #givenBack = 0;

  constructor(study: Study, studies: Pick<Studies, 'partWith'>) {
    this.study = study;
    this.#studies = studies;
  }

  /** Id of the task of open points. */
  taskIdOf([point]: readonly [Try, ...unknown[]]): Task['id'] {
    const key = keyOf(point);
    const id = this.#taskIds.get(key) ?? taskIdOf(this.study, point);
    this.#taskIds.set(key, id);
    return id;
  }

  /** Takes note of points that have ended. */
  ended(points: readonly EndedPoint[], nowMs: number): void {
    const ran = points.filter(({ startedAtMs }) => startedAtMs !== null);
    this.pace.add(ran, nowMs);
  }

  /** Takes note of a task that has ended. */
  endedTask([point]: readonly [Try, ...unknown[]]): void {
    this.#taskIds.delete(keyOf(point));
  }

  /** Takes note of a bundle that has ended, and whether some of its points were not run. */
  endedBundle(gaveBack: boolean): void {
    this.#givenBack = gaveBack ? this.#givenBack + 1 : 0;
  }

  /** Number of points of the next bundles, which take this time together like the latest points; 1 for points with tasks of their own. */
  bundleSize(bundleMs: number, nowMs: number): number {
    if (!this.study.definition.bundle || this.#givenBack >= MOST_GIVEN_BACK) return 1;
    return Math.max(1, Math.min(this.pace.runIn(bundleMs, nowMs), MAX_BUNDLED_POINTS));
  }

  /** Values of the planned points from number `first` to `last`, each in the order of the variables. Rejects as the store does. */
  async points(first: number, last: number): Promise<readonly (readonly PointValue[])[]> {
    const points: (readonly PointValue[])[] = [];
    for (let number = first; number <= last; number++) points.push(await this.#point(number));
    return points;
  }

  async #point(number: number): Promise<readonly PointValue[]> {
    const part = this.#part;
    const isThere = part !== undefined && number >= part.first && number < part.first + part.points.count;
    const { first, points } = isThere ? part : await this.#read(number);
    return points.at(number - first);
  }

  /** Results that its points may reuse; undefined before they were read, and for a study that reuses none. */
  get earlier(): EarlierResults | undefined {
    return this.#earlier;
  }

  /** Whether the earlier results are known, if it wants any; otherwise begins to read them, unless that is being done. */
  knowsEarlier({ read, onRead, onFault }: EarlierReading): boolean {
    this.#restsSinceMs = undefined;
    if (!this.study.definition.reuse || this.#earlier) return true;
    if (this.#isReadingEarlier) return false;
    this.#isReadingEarlier = true;
    read()
      .finally(() => {
        this.#isReadingEarlier = false;
      })
      .then((earlier) => {
        this.#earlier = earlier;
        onRead();
      })
      .catch(onFault);
    return false;
  }

  /** Forgets the points, which take memory if they are samples, and, unless more will come, the results that they might have reused. */
  allBegun(): void {
    this.#part = undefined;
    if (!this.study.isOpen) this.#earlier = undefined;
  }

  /** Takes note that no further point waits to begin. After a minute, it forgets the earlier results, which are read again for later points. */
  rests(monotonicMs: number): void {
    this.#restsSinceMs ??= monotonicMs;
    if (monotonicMs - this.#restsSinceMs >= EARLIER_KEPT_MS) this.#earlier = undefined;
  }

  async #read(number: number): Promise<Part> {
    const { id, definition } = this.study;
    const found = await this.#studies.partWith(id, number);
    if (!found) throw new Error(`study ${id} has no plan for its point ${number}`);
    const result = planned(definition.variables, found.plan, Number.MAX_SAFE_INTEGER);
    if ('errors' in result)
      throw new Error(`the plan of study ${id} is not valid any more: ${result.errors[0]?.what}`);
    this.#part = { first: found.first, points: result.points };
    return this.#part;
  }
}

function keyOf({ number, tries, bundle }: Try): string {
  return bundle === null ? `${number}/${tries}` : `bundle ${bundle}`;
}
