/**
 * The first waiting tasks of a queue pool, in order, as far as they are known. Invariant: each enqueued task of the
 * pool is either known or comes after the last known one. So the first tasks can be dispatched without reading the store,
 * however many wait behind them.
 */
import { compareWaiting, type WaitingTask } from '../../core/match-tasks.js';
import { positionIn } from '../../core/sorted.js';

export class QueueHeadCache {
  #known: WaitingTask[] = [];
  /** No task waits behind the known ones. */
  #isComplete: boolean;
  /** Changes since {@link beginRead}, which the read may have missed. */
  #duringRead: { readonly added: WaitingTask[]; readonly removed: Set<string> } | undefined;

  /** A complete cache is of a pool in which nothing waits; of any other pool nothing is known yet. */
  constructor(isComplete: boolean) {
    this.#isComplete = isComplete;
  }

  /** The cached tasks, in order; {@link reaches} says whether they are enough. */
  get known(): readonly WaitingTask[] {
    return this.#known;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Nothing waits in the pool. */
  get isEmpty(): boolean {
    return this.#isComplete && this.#known.length === 0;
  }

  /** Whether the first `count` are known, or all that there are. */
  reaches(count: number): boolean {
    return this.#isComplete || this.#known.length >= count;
  }

  /** From now on, changes are recorded for {@link endRead}. */
  beginRead(): void {
    this.#duringRead = { added: [], removed: new Set() };
  }

  /** Takes the first tasks as the store gave them, and the changes since {@link beginRead}. */
  endRead(heads: readonly WaitingTask[], isComplete: boolean, limit: number): void {
    const { added, removed } = this.#duringRead ?? { added: [], removed: new Set<string>() };
    this.#duringRead = undefined;
    this.#known = heads.filter(({ taskId }) => !removed.has(taskId));
    this.#isComplete = isComplete;
    for (const task of added) if (!removed.has(task.taskId)) this.add(task, limit);
  }

  /** Another task waits. More than twice `limit` known tasks are cut down to `limit`. */
  add(task: WaitingTask, limit: number): void {
    this.#duringRead?.added.push(task);
    this.#duringRead?.removed.delete(task.taskId);
    const known = this.#known;
    const at = positionIn(known, task, compareWaiting);
    if (known[at]?.taskId === task.taskId) return;
    // Unknown tasks behind the last known one may come before this one.
    if (at === known.length && !this.#isComplete) return;
    known.splice(at, 0, task);
    if (known.length <= 2 * limit) return;
    known.length = limit;
    this.#isComplete = false;
  }

  /** The task left the queue. */
  remove(taskId: string): void {
    this.#duringRead?.removed.add(taskId);
    const at = this.#known.findIndex((task) => task.taskId === taskId);
    if (at >= 0) this.#known.splice(at, 1);
  }
}
