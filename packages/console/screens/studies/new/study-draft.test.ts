import { expect, it } from 'vitest';
import { EMPTY_STUDY, faultsIn, faultsOf, listOf, type VariedVariable, variedAround } from './study-draft.js';

const speed = variedAround('speed', '1000');
const isRule = (text: string) => text === 'a rule';

it.each([
  ['1000', { kind: 'NUMBER', from: '500', to: '1500', form: 'COUNT' }],
  ['-0.3', { from: '-0.45', to: '-0.15' }],
  ['0', { from: '0', to: '1' }],
  ['VG 46', { kind: 'TEXT', form: 'LIST', list: 'VG 46' }],
])('begins around the value of the job: %s', (value, expected) => {
  expect(variedAround('x', value)).toMatchObject(expected);
});

it.each<[Partial<VariedVariable>, readonly (number | string)[] | undefined]>([
  [{ list: '1, 2 5' }, [1, 2, 5]],
  [{ list: '1,5; 2' }, [1.5, 2]],
  [{ list: '1, two' }, undefined],
  [{ list: ' ' }, undefined],
  [{ list: 'VG 46, VG 68', kind: 'TEXT' }, ['VG 46', 'VG 68']],
])('reads levels one by one: %j', (given, expected) => {
  expect(listOf({ ...speed, ...given })).toEqual(expected);
});

const faultsWith = (variable: Partial<VariedVariable>, more: Partial<typeof EMPTY_STUDY> = {}) =>
  faultsOf({ ...EMPTY_STUDY, name: 'x', varied: [{ ...speed, ...variable }], ...more }, isRule).map(
    ({ where, what }) => `${where}: ${what}`,
  );

it.each<[Partial<VariedVariable>, string[]]>([
  [{}, []],
  [{ from: '' }, ['plan.levels[0].from: number']],
  [{ from: '2000' }, ['plan.levels[0].to: order']],
  [{ from: '0', isLogarithmic: true }, ['plan.levels[0].from: positive']],
  [{ count: '2.5' }, ['plan.levels[0].count: whole']],
  [{ form: 'STEP', step: '0' }, ['plan.levels[0].step: number']],
  [{ form: 'STEP', step: '-1' }, ['plan.levels[0].step: direction']],
  [{ form: 'STEP', step: '-100', from: '1500', to: '500' }, []],
  [{ form: 'LIST', list: 'a' }, ['plan.levels[0].values: number']],
])('names the field that has a fault: %j', (variable, expected) => {
  expect(faultsWith(variable)).toEqual(expected);
});

it('asks of samples for bounds that are numbers, their number and a seed', () => {
  const sampled = { plan: 'LATIN_HYPERCUBE', count: '0', seed: '' } as const;
  expect(faultsWith({ to: 'x' }, sampled)).toEqual([
    'variables[0].upper: number',
    'plan.count: whole',
    'plan.seed: whole',
  ]);
  expect(faultsWith({ kind: 'TEXT' }, { ...sampled, plan: 'SOBOL', count: '8' })).toEqual([
    'variables[0].kind: number',
  ]);
});

it('needs a name, a variable and rules that can be read', () => {
  expect(faultsOf({ ...EMPTY_STUDY, rules: ['a rule', 'none'] }, isRule)).toEqual([
    { where: 'name', what: 'nothing' },
    { where: 'variables', what: 'none' },
    { where: 'rules[1]', what: 'rule' },
  ]);
});

it('finds the places in a refusal of the hub', () => {
  const message =
    'plan.levels[0].to: must be closer to 1; values[1].name: must be letters, digits; a letter first';
  expect(faultsIn(message)).toEqual([
    { where: 'plan.levels[0].to', what: 'must be closer to 1' },
    { where: 'values[1].name', what: 'must be letters, digits; a letter first' },
  ]);
  expect(faultsIn('the hub is full')).toEqual([]);
});
