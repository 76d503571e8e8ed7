import { expect, it } from 'vitest';
import { placeIn, searchOf } from './place.js';

it.each([
  '',
  'tab=plot&x=variables.speed&y=values.stress&x-scale=log&y-scale=linear',
  'sort=values.stress&order=desc&outcome=FINISHED%2COPEN',
  'failed=INFRASTRUCTURE&cause=CRASH&reason=it+died&best=values.stress&goal=max',
  'failed=SOLVER_FAILED',
  'tab=compare&chosen=3%2C12',
  'tab=correlation&axis=variables.a%2Cb&axis=values.c&correlation=spearman',
])('reads the place that it writes: %s', (search) => {
  expect(searchOf(placeIn(search))).toBe(search);
});

it('leaves out what an address says wrongly', () => {
  expect(searchOf(placeIn('tab=x&order=up&outcome=GOOD,CANCELED&failed=no&cause=CRASH&x-scale=cubic'))).toBe(
    'outcome=CANCELED',
  );
});

it('compares each point once, by number, and no more than have room', () => {
  expect(placeIn('chosen=7,3,3,0,x').chosen).toEqual([3, 7]);
  expect(placeIn(`chosen=${Array.from({ length: 40 }, (_, at) => at + 1)}`).chosen).toHaveLength(12);
});
