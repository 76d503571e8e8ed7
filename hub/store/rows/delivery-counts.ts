/** Numbers of deliveries of webhooks by receiver, as this hub knows them. */
export class DeliveryCounts {
  #waiting: Map<string, number>;
  #refused = new Map<string, number>();

  /** @param waiting Numbers of deliveries that wait. */
  constructor(waiting: Iterable<readonly [receiver: string, deliveries: number]>) {
    this.#waiting = new Map(waiting);
  }

  /** Numbers of deliveries that wait, of the receivers that have any. */
  get waiting(): ReadonlyMap<string, number> {
    return this.#waiting;
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
    if (made.waiting > 0) this.#waiting.set(receiver, this.waitingFor(receiver) + made.waiting);
    if (made.refused > 0) this.#refused.set(receiver, (this.#refused.get(receiver) ?? 0) + made.refused);
  }

  /** Deliveries for a receiver no longer wait. */
  ended(receiver: string, count: number): void {
    const left = this.waitingFor(receiver) - count;
    if (left > 0) this.#waiting.set(receiver, left);
    else this.#waiting.delete(receiver);
  }

  /** Takes these numbers of deliveries that wait in place of the known ones. */
  recounted(waiting: Iterable<readonly [receiver: string, deliveries: number]>): void {
    this.#waiting = new Map(waiting);
  }
}
