/**
 * Claims that a crash of the server may still undo. A claim does not wait for the disk; the next durable batch of any lane makes it
 * durable, and logs it as a change, so that no place in the log of changes is ever used again for another change.
 */
interface NotedClaim {
  readonly taskId: string;
  readonly seq: number;
  /** Number of the batch of claims that it took place in. */
  readonly batch: number;
}

/** Claims that a durable batch logs. */
export interface NotedClaims {
  readonly claims: readonly NotedClaim[];
  /** Number of the batch of claims up to which all are logged once this batch has taken place. */
  readonly batch: number;
}

export class ClaimLog {
  #waiting: readonly NotedClaim[] = [];
  /** Claims of batches whose outcome is not known yet. */
  readonly #underWay = new Set<NotedClaims>();
  readonly #batch: () => number;
  /** Ids of tasks, with the numbers of their claims that are not durable. */
  readonly #notDurable = new Map<string, number>();

  /** @param batch Tells the number of the latest batch of claims whose claims were noted. */
  constructor(batch: () => number) {
    this.#batch = batch;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Claims of these tasks are sent. */
  begin(taskIds: readonly string[]): void {
    for (const id of taskIds) this.#notDurable.set(id, (this.#notDurable.get(id) ?? 0) + 1);
  }

  /** They took place for some of the tasks, and not for the others. */
  done(
    taskIds: readonly string[],
    claimed: readonly { readonly taskId: string; readonly seq: number }[],
  ): void {
    const taken = new Set(claimed.map(({ taskId }) => taskId));
    for (const id of taskIds) if (!taken.has(id)) this.#forget(id);
    const batch = this.#batch();
    this.#waiting = [...this.#waiting, ...claimed.map((claim) => ({ ...claim, batch }))];
  }

  /** None of them took place. */
  failed(taskIds: readonly string[]): void {
    for (const id of taskIds) this.#forget(id);
  }

  /** Claims for a durable batch to log. */
  take(): NotedClaims {
    // Another batch may yet fail, or never be sent.
    const elsewhere = [...this.#underWay].flatMap(({ claims }) => claims.map(({ batch }) => batch - 1));
    const taken = { claims: this.#waiting, batch: Math.min(this.#batch(), ...elsewhere) };
    this.#waiting = [];
    this.#underWay.add(taken);
    return taken;
  }

  /** The batch took place: the claims are durable. */
  logged(taken: NotedClaims): void {
    this.#underWay.delete(taken);
    for (const { taskId } of taken.claims) this.#forget(taskId);
  }

  /** The batch did not take place. */
  giveBack(taken: NotedClaims): void {
    if (this.#underWay.delete(taken)) this.#waiting = [...taken.claims, ...this.#waiting];
  }

  isNotDurable(taskId: string): boolean {
    return this.#notDurable.has(taskId);
  }

  #forget(taskId: string): void {
    const left = (this.#notDurable.get(taskId) ?? 0) - 1;
    if (left > 0) this.#notDurable.set(taskId, left);
    else this.#notDurable.delete(taskId);
  }
}
