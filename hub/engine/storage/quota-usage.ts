import pLimit from 'p-limit';

/** Uploads to the input storage under way: their bytes count for the quota in addition to those in the store. */
export class QuotaUsage {
  readonly #owners = new Map<string | null, OwnerUse>();

  /** Begins an upload. */
  begin(owner: string | null): OwnerUse {
    const known = this.#owners.get(owner);
    const use = known ?? new OwnerUse(() => this.#owners.delete(owner));
    if (!known) this.#owners.set(owner, use);
    use.uploads++;
    return use;
  }
}

/** The uploads of one user. */
export class OwnerUse {
  /** Runs a step after those of other uploads have ended, so that each sees the bytes that a refused one gave back. */
  readonly inTurn = pLimit(1);
  uploads = 0;
  /** Bytes received of uploads under way. */
  underWayBytes = 0;
  /** Rises when an upload of this user is named, since figures that were read from the store before are then out of date. */
  version = 0;
  readonly #naming = new Set<Promise<unknown>>();
  readonly #onOver: () => void;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  reserve(bytes: number): void {
    this.underWayBytes += bytes;
  }

  /** These bytes have a name by now, or are gone. */
  release(bytes: number): void {
    this.underWayBytes -= bytes;
    this.version++;
  }

  /** Runs a step in which a blob counts twice: as under way, and with its name. */
  async whileNaming<T>(step: () => Promise<T>): Promise<T> {
    const naming = step();
    const over = naming.catch(() => undefined).finally(() => this.#naming.delete(over));
    this.#naming.add(over);
    return naming;
  }

  /** Resolves when the steps under way have ended, so that no blob counts twice. */
  async named(): Promise<void> {
    await Promise.all(this.#naming);
  }

  /** Ends one upload. */
  end(): void {
    this.uploads--;
    if (this.uploads === 0) this.#onOver();
  }
}
