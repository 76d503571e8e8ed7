/** Numbers of instances, counted from 1, for as long as a row has them. 0 stands for no instance. */
export class InstanceNumbers {
  readonly #known = new Map<string, { readonly number: number; rows: number }>();
  readonly #ids = new Map<number, string>();
  /** Numbers that are free, below the next new one. */
  readonly #free: number[] = [];

  /** Number of instances that rows have. */
  get size(): number {
    return this.#known.size;
  }

  /** Undefined for an instance that no row has. */
  of(id: string): number | undefined {
    return this.#known.get(id)?.number;
  }

  /** Gives the number for another row with this instance. */
  hold(id: string | null): number {
    if (id === null) return 0;
    const known = this.#known.get(id) ?? { number: this.#free.pop() ?? this.#ids.size + 1, rows: 0 };
    known.rows++;
    this.#known.set(id, known);
    this.#ids.set(known.number, id);
    return known.number;
  }

  /** A row has this number no more. */
  release(number: number): void {
    const id = this.#ids.get(number);
    const known = id === undefined ? undefined : this.#known.get(id);
    if (id === undefined || !known || --known.rows > 0) return;
    this.#known.delete(id);
    this.#ids.delete(number);
    if (this.#known.size > 0) this.#free.push(number);
    else this.#free.length = 0;
  }
}
