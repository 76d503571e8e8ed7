/**
 * The texts of all segments that grow no more, spread over several threads, which search theirs at the same time: a search is the
 * work of all cores. A small store is searched by this thread alone.
 */
import { type RowBits, type SegmentTexts, type TextFilter, TextSearch } from './segment-texts.js';

/** Up to so many segments one thread is enough. */
const SEGMENTS_OF_ONE_THREAD = 12;

/** What so many filters let through is remembered: a page after the other, and who looks again, cost no search. For each a
 *  segment has one bit a task. */
const FILTERS_REMEMBERED = 32;

/** A thread with some of the segments. Whatever is asked of it is done in order. */
export interface SearchHelper {
  /** Hands the texts of a segment over to it. */
  hold(segment: number, texts: SegmentTexts): void;
  forget(segment: number): void;
  /** Begins to search in these segments; what it gives waits for what fits in each. */
  search(filter: TextFilter, segments: readonly number[]): () => readonly RowBits[];
}

export interface SharedTextsOptions {
  /** How many threads may help. */
  readonly helpers: number;
  readonly startHelper: () => SearchHelper;
}

type Found = Map<number, RowBits>;

export class SharedTexts {
  readonly #options: SharedTextsOptions;
  readonly #own = new Map<number, SegmentTexts>();
  /** Each with the segments that it has. */
  readonly #helpers = new Map<SearchHelper, Set<number>>();
  /** By filter; the one that was asked for last comes last. */
  readonly #found = new Map<string, Found>();

  constructor(options: SharedTextsOptions) {
    this.#options = options;
  }

  /** Takes over the texts of a segment. */
  hold(segment: number, texts: SegmentTexts): void {
    const holder = this.#leastLaden();
    if (holder === undefined) {
      this.#own.set(segment, texts);
      return;
    }
    this.#helpers.get(holder)?.add(segment);
    holder.hold(segment, texts);
  }

  forget(segment: number): void {
    this.#own.delete(segment);
    for (const [helper, segments] of this.#helpers) if (segments.delete(segment)) helper.forget(segment);
    for (const found of this.#found.values()) found.delete(segment);
  }

  /** What fits in each of these segments that are held. */
  search(filter: TextFilter, segments: readonly number[]): ReadonlyMap<number, RowBits> {
    const found = this.#foundBy(filter);
    const sought = segments.filter((segment) => !found.has(segment));
    const asked = [...this.#helpers].flatMap(([helper, held]) => {
      const theirs = sought.filter((segment) => held.has(segment));
      return theirs.length === 0 ? [] : [{ theirs, answer: helper.search(filter, theirs) }];
    });
    const search = new TextSearch(filter);
    for (const segment of sought) {
      const texts = this.#own.get(segment);
      if (texts) found.set(segment, search.in(texts));
    }
    for (const { theirs, answer } of asked) {
      for (const [at, bits] of answer().entries()) found.set(theirs[at] as number, bits);
    }
    return found;
  }

  #foundBy({ id, name, creator }: TextFilter): Found {
    const key = JSON.stringify([id ?? null, name?.toLowerCase() ?? null, creator ?? null]);
    const found = this.#found.get(key) ?? new Map<number, RowBits>();
    this.#found.delete(key);
    this.#found.set(key, found);
    const [oldest] = this.#found.keys();
    if (this.#found.size > FILTERS_REMEMBERED && oldest !== undefined) this.#found.delete(oldest);
    return found;
  }

  /** Undefined stands for this thread. */
  #leastLaden(): SearchHelper | undefined {
    if (this.#own.size < SEGMENTS_OF_ONE_THREAD) return undefined;
    if (this.#helpers.size < this.#options.helpers) {
      const helper = this.#options.startHelper();
      this.#helpers.set(helper, new Set());
      return helper;
    }
    let least: SearchHelper | undefined;
    let fewest = this.#own.size;
    for (const [helper, { size }] of this.#helpers) {
      if (size >= fewest) continue;
      least = helper;
      fewest = size;
    }
    return least;
  }
}
