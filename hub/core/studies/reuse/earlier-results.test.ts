import { describe, expect, it } from 'vitest';
import { type EarlierResult, EarlierResults } from './earlier-results.js';

const result = (taskId: string, ...variables: readonly string[]): EarlierResult => ({
  taskId,
  variables,
  values: [],
});
const resultsOf = (...results: readonly EarlierResult[]) =>
  new EarlierResults({ names: ['load', 'steel', 'speed'], results, bundled: [], missOfAll: 'there is none' });
const tasks = (found: ReturnType<EarlierResults['find']>) =>
  'results' in found ? found.results.map(({ taskId }) => taskId) : found.miss;

describe('earlier results', () => {
  it('are found by all of their variables, those to be preferred first', () => {
    const earlier = resultsOf(
      result('a', '1', 'x', '5'),
      result('b', '1', 'x', '5'),
      result('c', '1', 'x', '6'),
    );
    expect(tasks(earlier.find(['1', 'x', '5']))).toEqual(['a', 'b']);
    earlier.add(result('d', '1', 'x', '5'));
    earlier.add(result('e', '0', 'x', '5'));
    expect(tasks(earlier.find(['1', 'x', '5']))).toEqual(['d', 'a', 'b']);
    expect(tasks(earlier.find(['0', 'x', '5']))).toEqual(['e']);
  });

  it.each([
    [['1', 'x', '7'], 'speed is 7 instead of 6 in the nearest earlier result, task c'],
    [['1', 'y', '5'], /^steel is y instead of x /],
    [['2', 'x', '5'], /^load is 2 instead of [19] /],
    [['9', 'z', '5'], 'steel is z instead of w in the nearest earlier result, task d'],
  ])(
    'that are missing for %j are told by the first variable that differs from the nearest',
    (variables, miss) => {
      const earlier = resultsOf(
        result('a', '1', 'x', '5'),
        result('c', '1', 'x', '6'),
        result('d', '9', 'w', '1'),
      );
      const found = tasks(earlier.find(variables));
      if (typeof miss === 'string') expect(found).toBe(miss);
      else expect(found).toMatch(miss);
    },
  );

  it('are not those of bundles, which is told where there is no other', () => {
    const earlier = new EarlierResults({
      names: ['load'],
      results: [result('a', '1')],
      bundled: [
        { taskId: 'b', variables: ['1'] },
        { taskId: 'c', variables: ['2'] },
      ],
      missOfAll: 'there is none',
    });
    expect(tasks(earlier.find(['1']))).toEqual(['a']);
    expect(tasks(earlier.find(['2']))).toBe(
      'the equal earlier result is that of a bundle, which is not reused: task c',
    );
    expect(tasks(earlier.find(['3']))).toMatch(/^load is 3 instead of 1 /);
  });

  it('are not mixed up by texts with any characters', () => {
    const odd = ['a\0', '\0\0', '\0\u0001'] as const;
    const earlier = resultsOf(
      result('a', odd[0], '', ''),
      result('b', 'a', odd[1], ''),
      result('c', 'a', odd[2], ''),
      result('d', 'a\0\0', '', ''),
    );
    expect(tasks(earlier.find([odd[0], '', '']))).toEqual(['a']);
    expect(tasks(earlier.find(['a', odd[1], '']))).toEqual(['b']);
    expect(tasks(earlier.find(['a', odd[2], '']))).toEqual(['c']);
    expect(tasks(earlier.find(['a', '', '']))).toContain('instead of');
  });

  it('of the same task count once', () => {
    const earlier = resultsOf(result('a', '1', 'x', '5'), result('a', '1', 'x', '5'));
    earlier.add(result('a', '1', 'x', '5'));
    expect(tasks(earlier.find(['1', 'x', '5']))).toEqual(['a']);
  });

  it('that there are none of have the reason that was given', () => {
    expect(tasks(resultsOf().find(['1', 'x', '5']))).toBe('there is none');
  });
});
