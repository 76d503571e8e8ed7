/** Numbers of deliveries of webhooks by receiver, as this hub knows them. */
export class DeliveryCounts {
  #waiting: Map<string, number>;
  #refused = new Map<string, number>();
  #recounts = 0;
  /** Deliveries made during each recount that is under way. */
  readonly #madeMeanwhile = new Set<Map<string, number>>();

  /** @param waiting Numbers of deliveries that wait. */
  constructor(waiting: Iterable<readonly [receiver: string, deliveries: number]>) {
    this.#waiting = new Map(waiting);
  }

  /** Numbers of deliveries that wait, of the receivers that have any. */
  get waiting(): ReadonlyMap<string, number> {
    return this.#waiting;
  }

  /** Number of recounts until now. */
  get recounts(): number {
    return this.#recounts;
  }

  waitingFor(receiver: string): number {
    return this.#waiting.get(receiver) ?? 0;
  }

  /** Numbers of deliveries that failed at once since the last call. */
  takeRefused(): { readonly receiver: string; readonly deliveries: number }[] {
    const refused = [...this.#refused].map(([receiver, deliveries]) => ({ receiver, deliveries }));
    this.#refused = new Map();
    return refused;
  }

  /** Deliveries were made: some wait, and some failed at once because too many did. */
  made(receiver: string, made: { readonly waiting: number; readonly refused: number }): void {
    if (made.waiting > 0)
      for (const counts of [this.#waiting, ...this.#madeMeanwhile]) add(counts, receiver, made.waiting);
    if (made.refused > 0) add(this.#refused, receiver, made.refused);
  }

  /** Deliveries for a receiver no longer wait. @param since Number of recounts when the write began that ended them: a later recount
   *  may have left them out. */
  ended(receiver: string, count: number, since = this.#recounts): void {
    if (since !== this.#recounts) return;
    const left = this.waitingFor(receiver) - count;
    if (left > 0) this.#waiting.set(receiver, left);
    else this.#waiting.delete(receiver);
  }

  /** Reads numbers of deliveries that wait, and takes them in place of the known ones. While others are made or ended, a number may
   *  become too high until the next recount, and never too low: of a receiver with none, no delivery is looked for. */
  async recount(
    read: () => Promise<Iterable<readonly [receiver: string, deliveries: number]>>,
  ): Promise<void> {
    const made = new Map<string, number>();
    this.#madeMeanwhile.add(made);
    try {
      const waiting = new Map(await read());
      for (const [receiver, count] of made) add(waiting, receiver, count);
      this.#waiting = waiting;
      this.#recounts++;
    } finally {
      this.#madeMeanwhile.delete(made);
    }
  }
}

function add(counts: Map<string, number>, receiver: string, count: number): void {
  counts.set(receiver, (counts.get(receiver) ?? 0) + count);
}
