import { expect, it } from 'vitest';
import { placeIn, searchOf } from './place.js';

it.each([
  '',
  'tab=plot&x=variables.speed&y=values.stress&x-scale=log&y-scale=linear',
  'sort=values.stress&order=desc&outcome=FINISHED%2COPEN',
  'failed=INFRASTRUCTURE&cause=CRASH&reason=it+died&best=values.stress&goal=max',
  'failed=SOLVER_FAILED',
])('reads the place that it writes: %s', (search) => {
  expect(searchOf(placeIn(search))).toBe(search);
});

it('leaves out what an address says wrongly', () => {
  expect(searchOf(placeIn('tab=x&order=up&outcome=GOOD,CANCELED&failed=no&cause=CRASH&x-scale=cubic'))).toBe(
    'outcome=CANCELED',
  );
});
