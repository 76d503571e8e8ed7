/**
 * Claims that a crash of the server may still undo. A claim does not wait for the disk; the next durable batch of any lane makes it
 * durable, and logs it as a change, so that no place in the log of changes is ever used again for another change.
 */
export interface NotedClaims {
  readonly seqs: readonly number[];
  /** Number of the latest batch of claims. */
  readonly batch: number;
}

export class ClaimLog {
  #seqs: number[] = [];
  readonly #batch: () => number;
  /** Ids of tasks, with the numbers of their claims that are not durable. */
  readonly #undurable = new Map<string, number>();
  readonly #idOf = new Map<number, string>();

  /** @param batch Tells the number of the latest batch of claims whose claims were noted. */
  constructor(batch: () => number) {
    this.#batch = batch;
  }

  get isEmpty(): boolean {
    return this.#seqs.length === 0;
  }

  /** Claims of these tasks are sent. */
  begin(taskIds: readonly string[]): void {
    for (const id of taskIds) this.#undurable.set(id, (this.#undurable.get(id) ?? 0) + 1);
  }

  /** They took place for some of the tasks, and not for the others. */
  done(
    taskIds: readonly string[],
    claimed: readonly { readonly taskId: string; readonly seq: number }[],
  ): void {
    const taken = new Set(claimed.map(({ taskId }) => taskId));
    for (const id of taskIds) if (!taken.has(id)) this.#forget(id);
    for (const { taskId, seq } of claimed) {
      this.#seqs.push(seq);
      this.#idOf.set(seq, taskId);
    }
  }

  /** None of them took place. */
  failed(taskIds: readonly string[]): void {
    for (const id of taskIds) this.#forget(id);
  }

  /** Notes a claim of a former incarnation. */
  note(seq: number): void {
    this.#seqs.push(seq);
  }

  /** Claims for a durable batch to log. */
  take(): NotedClaims {
    const seqs = this.#seqs;
    this.#seqs = [];
    return { seqs, batch: this.#batch() };
  }

  /** The batch took place: the claims are durable. */
  logged({ seqs }: NotedClaims): void {
    for (const seq of seqs) {
      this.#forget(this.#idOf.get(seq) ?? '');
      this.#idOf.delete(seq);
    }
  }

  /** The batch did not take place. */
  giveBack({ seqs }: NotedClaims): void {
    this.#seqs = [...seqs, ...this.#seqs];
  }

  isUndurable(taskId: string): boolean {
    return this.#undurable.has(taskId);
  }

  #forget(taskId: string): void {
    const left = (this.#undurable.get(taskId) ?? 0) - 1;
    if (left > 0) this.#undurable.set(taskId, left);
    else this.#undurable.delete(taskId);
  }
}
