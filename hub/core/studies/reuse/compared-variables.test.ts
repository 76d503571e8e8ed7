import { describe, expect, it } from 'vitest';
import { comparedVariables, differenceOfAll } from './compared-variables.js';

const WANTED = { fixed: new Map([['steel', 'S235']]), names: ['load', 'speed'] };
const earlier = (fixed: Record<string, string>, ...names: readonly string[]) => ({
  fixed: new Map(Object.entries(fixed)),
  names,
});

describe('variables of an earlier study', () => {
  it('may agree in points, however they are divided into fixed and varied ones', () => {
    for (const other of [
      earlier({ steel: 'S235' }, 'load', 'speed'),
      earlier({ steel: 'S235', load: '7' }, 'speed'),
      earlier({}, 'speed', 'steel', 'load'),
    ]) {
      expect(differenceOfAll(WANTED, other)).toBeUndefined();
    }
  });

  it('differ at all points', () => {
    const all = [
      earlier({ steel: 'S355' }, 'load', 'speed'),
      earlier({ steel: 'S235' }, 'load'),
      earlier({ load: '7', speed: '1' }),
      earlier({ steel: 'S235' }, 'load', 'speed', 'oil'),
    ];
    expect(all.map((other) => differenceOfAll(WANTED, other))).toEqual([
      'variable steel is S235 instead of S355',
      'variable speed is only in the new job',
      'variable steel is only in the new job',
      'variable oil is only in the earlier job',
    ]);
  });

  it('of one point are texts in the order of the new study, or the first difference', () => {
    const of = (values: Record<string, string>) => comparedVariables(WANTED, new Map(Object.entries(values)));
    expect(of({ speed: '2', load: '1', steel: 'S235' })).toEqual({ texts: ['1', '2'] });
    expect(of({ speed: '2', load: '1', steel: 'S355' })).toEqual({
      what: 'variable steel is S235 instead of S355',
    });
    expect(of({ load: '1', steel: 'S235' })).toEqual({ what: 'variable speed is only in the new job' });
    expect(of({ load: '1', speed: '2', steel: 'S235', oil: 'x' })).toEqual({
      what: 'variable oil is only in the earlier job',
    });
  });
});
