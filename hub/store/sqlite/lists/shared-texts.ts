/**
 * The texts of all segments that grow no more, spread over several threads, which search theirs at the same time: a search is the
 * work of all cores. A small store is searched by this thread alone. A search goes on by turns, so that others need not wait for
 * its end.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import {
  type RowBits,
  type SegmentTexts,
  searchForOneTurn,
  type TextFilter,
  TextSearches,
} from './segment-texts.js';

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
  /** Searches for one turn, one segment after the other; gives the rows that fit in each that was searched. */
  search(filter: TextFilter, segments: readonly number[]): Promise<readonly RowBits[]>;
}

export interface SharedTextsOptions {
  /** How many threads may help. */
  readonly helpers: number;
  readonly startHelper: () => SearchHelper;
  readonly clock: Clock;
}

/** A text filter with the rows that fit, of each segment that has been searched so far. */
export interface FilterSearch {
  readonly filter: TextFilter;
  readonly found: Map<number, RowBits>;
  /** The same of the first rows of the segment that still grows. */
  growing?: { readonly segment: number; readonly rows: number; readonly bits: RowBits };
}

export class SharedTexts {
  readonly #options: SharedTextsOptions;
  readonly #own = new Map<number, SegmentTexts>();
  readonly #searches = new TextSearches();
  /** Each with the segments that it has. */
  readonly #helpers = new Map<SearchHelper, Set<number>>();
  /** By filter; the one that was asked for last comes last. */
  readonly #remembered = new Map<string, FilterSearch>();

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
    for (const { found } of this.#remembered.values()) found.delete(segment);
  }

  /** The search by this filter: one that is remembered, or a new one. */
  searchBy({ id, name, creator }: TextFilter): FilterSearch {
    const key = JSON.stringify([id ?? null, name?.toLowerCase() ?? null, creator ?? null]);
    const search = this.#remembered.get(key) ?? { filter: { id, name, creator }, found: new Map() };
    this.#remembered.delete(key);
    this.#remembered.set(key, search);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > FILTERS_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return search;
  }

  /** Goes on with a search for one turn, in the first of these segments, all of which are held. */
  async goOn({ filter, found }: FilterSearch, segments: readonly number[]): Promise<void> {
    const asked = [...this.#helpers].flatMap(([helper, held]) => {
      const theirs = segments.filter((segment) => held.has(segment));
      return theirs.length === 0 ? [] : [{ theirs, held, answer: helper.search(filter, theirs) }];
    });
    const own = segments.filter((segment) => this.#own.has(segment));
    const texts = own.map((segment) => this.#own.get(segment) as SegmentTexts);
    const ownBits = searchForOneTurn(this.#searches.by(filter), texts, this.#options.clock);
    for (const [at, bits] of ownBits.entries()) found.set(own[at] as number, bits);
    for (const { theirs, held, answer } of asked) {
      for (const [at, bits] of (await answer).entries()) {
        const segment = theirs[at] as number;
        // It may have been forgotten meanwhile.
        if (held.has(segment)) found.set(segment, bits);
      }
    }
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
