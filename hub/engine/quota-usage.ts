/** What users are uploading to the input storage at this moment: it counts for their quota beside what the store knows of. */
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
  uploads = 0;
  /** Bytes that have come of uploads under way. */
  underWayBytes = 0;
  /** Grows when an upload of this user becomes a matter of the store: what the store said before is out of date. */
  version = 0;
  readonly #naming = new Set<Promise<unknown>>();
  readonly #onOver: () => void;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  reserve(bytes: number): void {
    this.underWayBytes += bytes;
  }

  /** So many bytes have a name by now, or are gone. */
  release(bytes: number): void {
    this.underWayBytes -= bytes;
    this.version++;
  }

  /** While a content gets its name, it counts twice: as under way, and with its name. */
  async whileNaming<T>(step: () => Promise<T>): Promise<T> {
    const naming = step();
    const over = naming.catch(() => undefined).finally(() => this.#naming.delete(over));
    this.#naming.add(over);
    return naming;
  }

  /** Resolves when nothing counts twice that does so now. */
  async named(): Promise<void> {
    await Promise.all(this.#naming);
  }

  /** Ends one upload. */
  end(): void {
    this.uploads--;
    if (this.uploads === 0) this.#onOver();
  }
}
