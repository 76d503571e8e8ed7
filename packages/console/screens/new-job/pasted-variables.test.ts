import { expect, it } from 'vitest';
import { pastedVariables } from './pasted-variables.js';

const SPEED_AND_LOAD = [
  { key: 'speed', value: '1500' },
  { key: 'load', value: '12' },
];

it.each([
  ['two columns of a spreadsheet', 'speed\t1500\nload\t12\n'],
  ['lines with =', 'speed = 1500\nload=12'],
  ['lines with a semicolon', 'speed;1500\r\nload;12\r\n'],
  ['CSV', '"speed","1500"\nload,12'],
  ['YAML', '# of the gear\nspeed: 1500\nload: 12'],
  ['JSON', '{ "speed": 1500, "load": "12" }'],
])('takes %s', (_, text) => {
  expect(pastedVariables(text)).toEqual(SPEED_AND_LOAD);
});

it('takes names above their values', () => {
  expect(pastedVariables('speed\tload\tmass\n1500\t12\t3')).toEqual([
    ...SPEED_AND_LOAD,
    { key: 'mass', value: '3' },
  ]);
});

it('keeps = in values', () => {
  expect(pastedVariables('filter=a=b')).toEqual([{ key: 'filter', value: 'a=b' }]);
});

const VALUES = [
  '1500',
  'gear',
  '',
  '[1, 2]',
  'speed = 1\nno variable',
  '0,5',
  '1, 2, 3\n',
  '1;2',
  'at: once',
];

it.each(VALUES)('leaves %j as it is', (text) => {
  expect(pastedVariables(text)).toBeUndefined();
});
