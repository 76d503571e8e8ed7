import { expect, it } from 'vitest';
import { baseOf, estimateMs, plannedOf, requestOf } from './planned.js';
import { EMPTY_STUDY, type StudyDraft, variedAround } from './study-draft.js';

const speed = {
  ...variedAround('speed', '1000'),
  form: 'STEP' as const,
  from: '500',
  to: '1500',
  step: '500',
};
const load = { ...variedAround('load', '2'), form: 'LIST' as const, list: '1, 2' };
const draft: StudyDraft = { ...EMPTY_STUDY, varied: [speed, load] };
const BASE = [1000, 2];

it('combines all levels in a grid, the last variable fastest', () => {
  const { count, first } = plannedOf(draft, BASE);
  expect(count).toBe(6);
  expect(first).toEqual([500, 1000, 1500].flatMap((each) => [1, 2].map((other) => [each, other])));
});

it('changes one variable at a time, and leaves out levels that are those of the job', () => {
  const { count, first } = plannedOf({ ...draft, plan: 'ONE_AT_A_TIME' }, BASE);
  expect(count).toBe(4);
  expect(first).toEqual([BASE, [500, 2], [1500, 2], [1000, 1]]);
});

it.each([
  ['at equal distances', { form: 'COUNT', from: '0', to: '1', count: '3' }, [0, 0.5, 1]],
  ['a single one', { form: 'COUNT', from: '4', to: '9', count: '1' }, [4]],
  ['of decades', { form: 'COUNT', from: '1', to: '100', count: '3', isLogarithmic: true }, [1, 10, 100]],
  ['whole numbers', { kind: 'INTEGER', form: 'COUNT', from: '0', to: '3', count: '3' }, [0, 2, 3]],
  ['by tenths to the end', { form: 'STEP', from: '0', to: '0.3', step: '0.1' }, [0, 0.1, 0.2, 0.3]],
  ['short of the end', { form: 'STEP', from: '0', to: '1', step: '0.4' }, [0, 0.4, 0.8]],
  ['downwards', { form: 'STEP', from: '2', to: '0', step: '-1' }, [2, 1, 0]],
] as const)('has levels %s', (_, levels, expected) => {
  const { first } = plannedOf({ ...draft, varied: [{ ...speed, ...levels }] }, BASE);
  expect(first).toEqual(expected.map((level) => [level]));
});

it('counts many points, and shows the first', () => {
  const many = { ...speed, form: 'COUNT' as const, count: '1000' };
  const { count, first } = plannedOf({ ...draft, varied: [many, { ...many, name: 'x' }] }, BASE);
  expect(count).toBe(1_000_000);
  expect(first).toHaveLength(10);
});

it('leaves samples to the hub', () => {
  const sampled = { ...draft, plan: 'SOBOL', count: '64', seed: '' } as const;
  expect(plannedOf(sampled, BASE)).toEqual({ count: 64, first: undefined });
  expect(requestOf(sampled, BASE)).toMatchObject({
    vary: [{ name: 'speed', lower: 500, upper: 1500 }, { name: 'load' }],
    plan: { kind: 'SOBOL', count: 64 },
  });
});

it('asks for levels, units and scales as they are typed', () => {
  const varied = [{ ...speed, unit: ' 1/min ', isLogarithmic: true }, load];
  expect(requestOf({ ...draft, varied, plan: 'ONE_AT_A_TIME' }, BASE)).toEqual({
    vary: [
      { name: 'speed', kind: 'NUMBER', unit: '1/min', scale: 'LOGARITHMIC' },
      { name: 'load', kind: 'NUMBER' },
    ],
    plan: {
      kind: 'ONE_AT_A_TIME',
      base: { speed: 1000, load: 2 },
      levels: [
        { variable: 'speed', from: 500, to: 1500, step: 500 },
        { variable: 'load', values: [1, 2] },
      ],
    },
  });
});

it('has the values of the job as the base', () => {
  const variables = [
    { key: 'load', value: '2' },
    { key: 'speed', value: 'fast' },
  ];
  expect(baseOf([speed, load], variables)).toEqual(['fast', 2]);
});

it('estimates by rounds of all instances', () => {
  expect(estimateMs(1000, 200, 3)).toBe(67_000);
});
