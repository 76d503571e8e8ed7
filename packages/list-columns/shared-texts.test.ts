import { describe, expect, it } from 'vitest';
import { type SegmentTexts, SegmentTextsBuilder, type TextFilter, TextSearch } from './segment-texts.js';
import { type SearchHelper, SharedTexts } from './shared-texts.js';

/** A helper in this thread, which notes what is asked of it. */
class NearbyHelper implements SearchHelper {
  readonly held = new Map<number, SegmentTexts>();
  readonly searched: number[][] = [];

  hold(segment: number, texts: SegmentTexts): void {
    this.held.set(segment, texts);
  }

  forget(segment: number): void {
    this.held.delete(segment);
  }

  async search(filter: TextFilter, segments: readonly number[]) {
    this.searched.push([...segments]);
    const search = new TextSearch(filter);
    return segments.map((segment) => search.in(this.held.get(segment) as SegmentTexts));
  }
}

/** The texts of a segment with one task, whose name is its number. */
function textsOf(segment: number): SegmentTexts {
  const builder = new SegmentTextsBuilder();
  builder.append(5, { id: `id-${segment}`, name: `N ${segment}`, creator: null });
  return builder.take();
}

/** @param readingMs So much time passes from one look at the clock to the next. */
function sharedTexts(segments: number, readingMs = 0) {
  const helpers: NearbyHelper[] = [];
  let timeMs = 0;
  const texts = new SharedTexts({
    clock: { nowMs: () => 0, monotonicMs: () => (timeMs += readingMs) },
    helpers: 2,
    startHelper: () => {
      const helper = new NearbyHelper();
      helpers.push(helper);
      return helper;
    },
  });
  const numbers = Array.from({ length: segments }, (_, segment) => segment);
  for (const segment of numbers) texts.hold(segment, textsOf(segment));
  const isHeld = new Set(numbers);
  const forget = (segment: number) => {
    isHeld.delete(segment);
    texts.forget(segment);
  };
  /** The segments in which something fits. */
  const found = async (filter: TextFilter, among = numbers) => {
    const search = texts.searchBy(filter);
    const unsearched = () => among.filter((segment) => isHeld.has(segment) && !search.found.has(segment));
    while (unsearched().length > 0) await texts.goOn(search, unsearched());
    return among.filter((segment) => search.found.get(segment)?.[0] === 1 << 5);
  };
  return { texts, forget, helpers, found };
}

describe('texts that are distributed over threads', () => {
  it('are held by one thread in a small store, and by the one with the fewest in a larger one', async () => {
    expect(sharedTexts(12).helpers).toHaveLength(0);
    const { helpers, found } = sharedTexts(39);
    expect(helpers.map(({ held }) => held.size)).toEqual([13, 13]);
    expect(await found({ name: 'n 3*' })).toEqual([3, 30, 31, 32, 33, 34, 35, 36, 37, 38]);
    expect(await found({ id: '*7' }, [7, 8, 27])).toEqual([7, 27]);
  });

  it('are searched once for a repeated filter', async () => {
    const { helpers, found } = sharedTexts(30);
    const [helper] = helpers;
    expect(await found({ name: 'n 2*' }, [20, 21])).toEqual([20, 21]);
    const asked = helper?.searched.length ?? 0;
    expect(await found({ name: 'N 2*' }, [21, 20])).toEqual([21, 20]);
    expect(helper?.searched).toHaveLength(asked);
    expect(await found({ name: 'n 2*' })).toHaveLength(11);
    expect(helper?.searched.flat().filter((segment) => segment === 20)).toHaveLength(1);
    // Not the same filter.
    expect(await found({ id: 'n 2*' })).toEqual([]);
    expect(helper?.searched.length).toBeGreaterThan(asked + 1);
  });

  it('are searched again for a filter that others have evicted', async () => {
    const { helpers, found } = sharedTexts(30);
    const searches = () => helpers.flatMap(({ searched }) => searched).length;
    await found({ name: 'first' });
    const once = searches();
    for (let other = 0; other < 31; other++) await found({ name: `other ${other}` });
    await found({ name: 'first' });
    expect(searches()).toBe(32 * once);
    for (let other = 40; other < 72; other++) await found({ name: `other ${other}` });
    await found({ name: 'first' });
    expect(searches()).toBe(65 * once);
  });

  it('are searched turn by turn, at least one segment in each thread', async () => {
    const searchedAtOnce = async (readingMs: number) => {
      const { texts } = sharedTexts(12, readingMs);
      const search = texts.searchBy({ name: 'n*' });
      await texts.goOn(
        search,
        Array.from({ length: 12 }, (_, segment) => segment),
      );
      return search.found.size;
    };
    expect(await searchedAtOnce(0)).toBe(12);
    expect(await searchedAtOnce(10)).toBe(4);
    expect(await searchedAtOnce(1000)).toBe(1);
  });

  it('are forgotten with their segment', async () => {
    const { forget, helpers, found } = sharedTexts(30);
    expect(await found({ name: 'n*' })).toHaveLength(30);
    const held = helpers[0]?.held.keys().next().value ?? -1;
    forget(held);
    forget(3);
    expect(helpers[0]?.held.has(held)).toBe(false);
    expect(await found({ name: 'n*' })).toHaveLength(28);
  });
});
