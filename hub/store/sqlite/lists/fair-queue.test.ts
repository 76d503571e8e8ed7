import { describe, expect, it } from 'vitest';
import { FairQueue, type WaitingList } from './fair-queue.js';

/** Lists that note their turns and answers by name. A short one takes no turn beyond its last. */
function underTest() {
  const turns = new FairQueue(() => new Promise((resolve) => setImmediate(resolve)));
  const events: string[] = [];
  const add = (
    client: string,
    name: string,
    length: number,
    { fails = false, during = () => {} } = {},
  ): WaitingList => {
    let left = length;
    const list: WaitingList = {
      client,
      isShort: length === 0,
      turn: async () => {
        events.push(name);
        during();
        if (fails) throw new Error(name);
        return left-- > 0 ? undefined : { rows: '[]', totalElements: 0 };
      },
      answer: () => events.push(`${name} answered`),
      fail: (error) => events.push(`${(error as Error).message} failed`),
    };
    turns.add(list);
    return list;
  };
  /** Events in order, when nothing is left to do. */
  const all = async () => {
    for (let before = -1; before < events.length; ) {
      before = events.length;
      for (let pause = 0; pause < 3; pause++) await new Promise((resolve) => setImmediate(resolve));
    }
    return events;
  };
  return { turns, add, all };
}

describe('the turns of lists', () => {
  it('alternate between callers, however much one of them requests', async () => {
    const { add, all } = underTest();
    for (const name of ['m1', 'm2', 'm3']) add('mallory', name, 2);
    add('vera', 'v1', 1);
    add('udo', 'u1', 1);
    const events = await all();
    expect(events.join(', ')).toBe(
      'm1, m1, v1, u1, m1, m1 answered, v1, v1 answered, u1, u1 answered, ' +
        'm2, m2, m2, m2 answered, m3, m3, m3, m3 answered',
    );
  });

  it('prefer short lists to those in progress', async () => {
    const { add, all } = underTest();
    let isAsked = false;
    const during = () => {
      if (isAsked) return;
      isAsked = true;
      add('vera', 'plain', 0);
    };
    for (const name of ['m1', 'm2']) add('mallory', name, 3, { during });
    expect((await all()).slice(0, 4)).toEqual(['m1', 'plain', 'plain answered', 'm1']);
  });

  it('do not let a flood of short lists delay another one', async () => {
    const { add, all } = underTest();
    add('mallory', 'first', 0);
    for (let at = 0; at < 30; at++) add('mallory', 'short', 0);
    add('vera', 'long', 1);
    const turns = (await all()).filter((event) => !event.endsWith('answered'));
    expect(turns.indexOf('long')).toBe(8);
    expect(turns.lastIndexOf('long')).toBe(17);
    expect(turns).toHaveLength(33);
  });

  it('alternate between callers for short lists, too', async () => {
    const { add, all } = underTest();
    for (const name of ['m1', 'm2', 'm3']) add('mallory', name, 0);
    add('vera', 'v1', 0);
    const answers = (await all()).filter((event) => event.endsWith('answered'));
    expect(answers).toEqual(['m1 answered', 'm2 answered', 'v1 answered', 'm3 answered']);
  });

  it('end for a list that nobody waits for, at once or in the middle of a turn', async () => {
    const { turns, add, all } = underTest();
    let abandoned: WaitingList | undefined;
    add('udo', 'u1', 1, { during: () => abandoned && turns.remove(abandoned) });
    abandoned = add('mallory', 'm1', 5);
    const inItsTurn: WaitingList = add('mallory', 'm2', 0, { during: () => turns.remove(inItsTurn) });
    add('mallory', 'm3', 0);
    expect(await all()).toEqual(['u1', 'm2', 'm3', 'm3 answered', 'u1', 'u1 answered']);
  });

  it('continue after a list that fails', async () => {
    const { add, all } = underTest();
    add('mallory', 'm1', 1, { fails: true });
    add('mallory', 'm2', 1);
    expect(await all()).toEqual(['m1', 'm1 failed', 'm2', 'm2', 'm2 answered']);
  });
});
