/**
 * The texts of all full segments, spread over several threads, which search at the same time. Few segments are searched by
 * this thread alone. A search is done in turns, between which others can run.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { FilterSearch } from './rows.js';
import {
  type RowBits,
  type SegmentTexts,
  searchForOneTurn,
  type TextFilter,
  TextSearches,
} from './segment-texts.js';

/** Segments up to which no helper thread is started. */
const SEGMENTS_OF_ONE_THREAD = 12;

/** Filters whose results are kept, so that further pages and repeated lists need no search. Each takes one bit a task. */
const FILTERS_REMEMBERED = 32;

/** A thread that holds some segments and handles calls in order. */
export interface SearchHelper {
  /** Transfers the texts of a segment to the thread. */
  hold(segment: number, texts: SegmentTexts): void;
  forget(segment: number): void;
  /** Searches segments in order for one turn; resolves with the matching rows of each searched segment. */
  search(filter: TextFilter, segments: readonly number[]): Promise<readonly RowBits[]>;
}

export interface SharedTextsOptions {
  /** Maximum number of helper threads. */
  readonly helpers: number;
  readonly startHelper: () => SearchHelper;
  readonly clock: Clock;
}

export class SharedTexts {
  readonly #options: SharedTextsOptions;
  readonly #own = new Map<number, SegmentTexts>();
  readonly #searches = new TextSearches();
  /** Segments held by each helper. */
  readonly #helpers = new Map<SearchHelper, Set<number>>();
  /** Searches by filter, the latest used last. */
  readonly #remembered = new Map<string, FilterSearch>();

  constructor(options: SharedTextsOptions) {
    this.#options = options;
  }

  /** Takes over the texts of a segment. */
  hold(segment: number, texts: SegmentTexts): void {
    const holder = this.#leastLoaded();
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

  /** The kept search by this filter, or a new one. */
  searchBy({ id, name, creator }: TextFilter): FilterSearch {
    const key = JSON.stringify([id ?? null, name?.toLowerCase() ?? null, creator ?? null]);
    const search = this.#remembered.get(key) ?? { filter: { id, name, creator }, found: new Map() };
    this.#remembered.delete(key);
    this.#remembered.set(key, search);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > FILTERS_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return search;
  }

  /** Searches the first of these segments, all of which are held, for one turn. */
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
        // The segment may have been removed in the meantime.
        if (held.has(segment)) found.set(segment, bits);
      }
    }
  }

  /** The holder with the fewest segments; undefined for this thread. */
  #leastLoaded(): SearchHelper | undefined {
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
