import { describe, expect, it } from 'vitest';
import { type Place, placeIn, searchOf } from './place.js';
import { WHOLE } from './preview/plot-range.js';

const LOG: Place = {
  tab: 'log',
  line: undefined,
  file: undefined,
  stored: undefined,
  isPlot: false,
  plot: undefined,
  range: WHOLE,
};

describe('the place within a task', () => {
  it.each<[string, Partial<Place>]>([
    ['', {}],
    ['tab=inputs', { tab: 'inputs' }],
    ['line=120000', { line: 120_000 }],
    ['tab=outputs&file=a%2Fb+%C3%BC.csv', { tab: 'outputs', file: 'a/b ü.csv' }],
    ['tab=outputs&stored=x.tar', { tab: 'outputs', stored: 'x.tar' }],
    [
      'tab=outputs&file=m.csv&view=plot&x=1&y=2%2C4&scale=log&from=-0.5&to=1e%2B30',
      {
        tab: 'outputs',
        file: 'm.csv',
        isPlot: true,
        plot: { x: 0, y: [1, 3], isLogarithmic: true },
        range: { from: -0.5, to: 1e30 },
      },
    ],
    ['view=plot&x=0&y=', { isPlot: true, plot: { x: undefined, y: [], isLogarithmic: false } }],
  ])("is in the address '%s', and the same when it is read", (search, part) => {
    expect(searchOf({ ...LOG, ...part })).toBe(search);
    expect(placeIn(search)).toEqual({ ...LOG, ...part });
  });

  it.each([
    'tab=x',
    'line=0',
    'line=-1',
    'line=1.5',
    'line=99999999999999999999',
    'from=x&to=Infinity',
    'file=',
  ])("leaves out what '%s' says wrongly", (search) => expect(placeIn(search)).toEqual(LOG));
});
