/**
 * The first waiting tasks of a group, in order, as far as they are known. What holds at any time: a task of the group that
 * waits, and was announced, is known or comes after the last that is known. So the first ones can be given out without a
 * look into the store, however many wait behind them.
 */
import { compareWaiting, type WaitingTask } from '../core/match-tasks.js';

export class QueueHeadCache {
  #known: WaitingTask[] = [];
  /** None waits behind those that are known. */
  #isAll: boolean;
  /** Rises with everything that a look into the store that is under way may not have seen. */
  #changes = 0;

  /** Of a group in which nothing waits, or of which nothing is known. */
  constructor(nothingWaits: boolean) {
    this.#isAll = nothingWaits;
  }

  get changes(): number {
    return this.#changes;
  }

  /** In order; {@link reaches} says whether they are enough. */
  get known(): readonly WaitingTask[] {
    return this.#known;
  }

  /** Nothing waits in the group. */
  get areNone(): boolean {
    return this.#isAll && this.#known.length === 0;
  }

  /** Whether the first `count` are known, or all that there are. */
  reaches(count: number): boolean {
    return this.#isAll || this.#known.length >= count;
  }

  /** Takes what a look into the store has given, which was asked for `asked`, unless something has `changed` since it began. */
  fill(heads: readonly WaitingTask[], asked: number, changes: number): void {
    if (changes !== this.#changes) return;
    this.#known = [...heads];
    this.#isAll = heads.length < asked;
  }

  /** Another task waits. Those known become `limit` when they would be more than twice as many. */
  add(task: WaitingTask, limit: number): void {
    this.#changes++;
    const known = this.#known;
    let at = known.length;
    while (at > 0 && compareWaiting(task, known[at - 1] as WaitingTask) < 0) at--;
    // Behind those known there may be others, which may be better.
    if (at === known.length && !this.#isAll) return;
    known.splice(at, 0, task);
    if (known.length <= 2 * limit) return;
    known.length = limit;
    this.#isAll = false;
  }

  /** The task waits no more. */
  remove(taskId: string): void {
    this.#changes++;
    const at = this.#known.findIndex((task) => task.taskId === taskId);
    if (at >= 0) this.#known.splice(at, 1);
  }

  /** What is known may not be so any more. */
  forget(): void {
    this.#changes++;
    this.#known = [];
    this.#isAll = false;
  }
}
