/** A synchronous standby that is out of reach: commits of the primary server that wait for it, and the state in which it would take
 *  over. */
export class LostStandby<Image> {
  readonly image: Image;
  #held: (() => void)[] = [];
  #onWaiting: (() => void) | undefined;

  constructor(image: Image, onWaiting: () => void) {
    this.image = image;
    this.#onWaiting = onWaiting;
  }

  /** Performs a write later, if at all. */
  hold<T>(perform: () => Promise<T>): Promise<T> {
    this.#onWaiting?.();
    this.#onWaiting = undefined;
    return new Promise((resolve, reject) => {
      this.#held.push(() => void perform().then(resolve, reject));
    });
  }

  /** Performs what was held, in its order. */
  release(): void {
    for (const perform of this.#held.splice(0)) perform();
  }
}
