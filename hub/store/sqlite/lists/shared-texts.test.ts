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

  search(filter: TextFilter, segments: readonly number[]) {
    this.searched.push([...segments]);
    const search = new TextSearch(filter);
    const found = segments.map((segment) => search.in(this.held.get(segment) as SegmentTexts));
    return () => found;
  }
}

/** The texts of a segment with one task, whose name is its number. */
function textsOf(segment: number): SegmentTexts {
  const builder = new SegmentTextsBuilder();
  builder.append(5, { id: `id-${segment}`, name: `N ${segment}`, creator: null });
  return builder.take();
}

function sharedTexts(segments: number) {
  const helpers: NearbyHelper[] = [];
  const texts = new SharedTexts({
    helpers: 2,
    startHelper: () => {
      const helper = new NearbyHelper();
      helpers.push(helper);
      return helper;
    },
  });
  const numbers = Array.from({ length: segments }, (_, segment) => segment);
  for (const segment of numbers) texts.hold(segment, textsOf(segment));
  /** The segments in which something fits. */
  const found = (filter: TextFilter, among = numbers) => {
    const bits = texts.search(filter, among);
    return among.filter((segment) => bits.get(segment)?.[0] === 1 << 5);
  };
  return { texts, helpers, found };
}

describe('texts that threads share', () => {
  it('are held by one thread in a small store, and by whoever has fewest in a larger one', () => {
    expect(sharedTexts(12).helpers).toHaveLength(0);
    const { helpers, found } = sharedTexts(39);
    expect(helpers.map(({ held }) => held.size)).toEqual([13, 13]);
    expect(found({ name: 'n 3*' })).toEqual([3, 30, 31, 32, 33, 34, 35, 36, 37, 38]);
    expect(found({ id: '*7' }, [7, 8, 27])).toEqual([7, 27]);
  });

  it('are searched once for a filter that is asked for again', () => {
    const { helpers, found } = sharedTexts(30);
    const [helper] = helpers;
    expect(found({ name: 'n 2*' }, [20, 21])).toEqual([20, 21]);
    const asked = helper?.searched.length ?? 0;
    expect(found({ name: 'N 2*' }, [21, 20])).toEqual([21, 20]);
    expect(helper?.searched).toHaveLength(asked);
    expect(found({ name: 'n 2*' })).toHaveLength(11);
    expect(helper?.searched.flat().filter((segment) => segment === 20)).toHaveLength(1);
    // Not the same filter.
    expect(found({ id: 'n 2*' })).toEqual([]);
    expect(helper?.searched.length).toBeGreaterThan(asked + 1);
  });

  it('are searched again for a filter that others have pushed out', () => {
    const { helpers, found } = sharedTexts(30);
    const searches = () => helpers.flatMap(({ searched }) => searched).length;
    found({ name: 'first' });
    const once = searches();
    for (let other = 0; other < 31; other++) found({ name: `other ${other}` });
    found({ name: 'first' });
    expect(searches()).toBe(32 * once);
    for (let other = 40; other < 72; other++) found({ name: `other ${other}` });
    found({ name: 'first' });
    expect(searches()).toBe(65 * once);
  });

  it('are forgotten with their segment', () => {
    const { texts, helpers, found } = sharedTexts(30);
    expect(found({ name: 'n*' })).toHaveLength(30);
    const held = helpers[0]?.held.keys().next().value ?? -1;
    texts.forget(held);
    texts.forget(3);
    expect(helpers[0]?.held.has(held)).toBe(false);
    expect(found({ name: 'n*' })).toHaveLength(28);
  });
});
