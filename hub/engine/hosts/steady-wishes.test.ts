import { expect, it } from 'vitest';
import { SteadyWishes } from './steady-wishes.js';

const requirement = { version: null, labels: [] };
const wish = (count: number, recipe = 'gears') => ({ recipe, requirement, count });

/** Asked for at each time, when so many are wanted there. */
function asked(wantedAt: readonly (readonly [atMs: number, count: number])[], isAtOnce = false): number[] {
  const wishes = new SteadyWishes();
  return wantedAt.map(([atMs, count]) =>
    wishes
      .settled(count === 0 ? [] : [wish(count)], atMs, isAtOnce)
      .reduce((sum, each) => sum + each.count, 0),
  );
}

it('a rise is followed when it lasts, by the least of it', () => {
  expect(
    asked([
      [0, 2],
      [2999, 4],
      [3000, 4],
      [5999, 4],
      [6000, 4],
    ]),
  ).toEqual([0, 0, 2, 2, 4]);
});

it('a rise that is over in between begins anew', () => {
  expect(
    asked([
      [0, 2],
      [1000, 0],
      [2000, 2],
      [4999, 2],
      [5000, 2],
    ]),
  ).toEqual([0, 0, 0, 0, 2]);
});

it('a fall is followed at once, and so is a rise that need not last', () => {
  expect(
    asked(
      [
        [0, 4],
        [1, 1],
        [2, 3],
      ],
      true,
    ),
  ).toEqual([4, 1, 3]);
});

it('recipes and requirements are told apart', () => {
  const wishes = new SteadyWishes();
  wishes.settled([wish(2)], 0, false);
  expect(wishes.settled([wish(2), wish(9, 'belts')], 3000, false)).toEqual([wish(2)]);
});
