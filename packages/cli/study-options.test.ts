import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StudyOptions, studyOf } from './study-options.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wb-study-'));
  writeFileSync(join(folder, 'run.js'), '');
  writeFileSync(join(folder, 'points.json'), '[{"speed": 500, "oil": "a"}]');
  writeFileSync(join(folder, 'points.csv'), '\ufeffspeed;oil\r\n0,5;a\r\n');
  writeFileSync(join(folder, 'bad.json'), '{"speed": 500}');
});
afterAll(() => rmSync(folder, { recursive: true }));

const study = (options: Partial<StudyOptions>) =>
  studyOf({
    ...{ script: [join(folder, 'run.js')], file: [], var: {}, label: [], name: 'bearing' },
    ...{ vary: [], value: [] },
    ...options,
  });

describe('the options of a study', () => {
  it('make a grid of ranges and lists', async () => {
    expect(await study({ vary: ['speed=500:3000:100', 'load=1,2.5', 'oil=a,2'] })).toMatchObject({
      vary: [{ name: 'speed' }, { name: 'load' }, { name: 'oil', kind: 'TEXT' }],
      plan: {
        kind: 'GRID',
        levels: [
          { variable: 'speed', from: 500, to: 3000, step: 100 },
          { variable: 'load', values: [1, 2.5] },
          { variable: 'oil', values: ['a', '2'] },
        ],
      },
    });
  });

  it('make conditions at which a study stops', async () => {
    const stopWhen = ['stress=:-2e2', 'force=1:2.5', 'time=0:'];
    expect((await study({ vary: ['x=1'], stopAfter: 60, stopWhen })).stopWhen).toEqual([
      { value: 'stress', upper: -200 },
      { value: 'force', lower: 1, upper: 2.5 },
      { value: 'time', lower: 0 },
    ]);
    for (const text of ['stress', 'stress=', 'stress=:', 'stress=1', 'stress=a:', '=1:2']) {
      const wrong = study({ vary: ['x=1'], stopWhen: [text] });
      await expect(wrong).rejects.toThrow(`--stop-when ${text} must be like`);
    }
  });

  it('name the address that is told', async () => {
    const notify = 'https://ci.example.org/hooks';
    expect(await study({ vary: ['speed=1'], notify })).toMatchObject({ notify });
    expect(await study({ vary: ['speed=1'] })).not.toHaveProperty('notify');
  });

  it('make samples between bounds', async () => {
    const vary = ['speed=-5e2:3000'];
    expect(await study({ vary, plan: 'latin-hypercube', count: 20 })).toMatchObject({
      vary: [{ name: 'speed', lower: -500, upper: 3000 }],
      plan: { kind: 'LATIN_HYPERCUBE', count: 20, seed: 0 },
    });
    expect(await study({ vary, plan: 'sobol', count: 8 })).toMatchObject({
      plan: { kind: 'SOBOL', count: 8 },
    });
  });

  it('vary one at a time from the first levels', async () => {
    expect(await study({ vary: ['speed=5,6', 'load=1:3:1'], plan: 'one-at-a-time' })).toMatchObject({
      plan: { kind: 'ONE_AT_A_TIME', base: { speed: 5, load: 1 } },
    });
  });

  it('read points from JSON and CSV', async () => {
    expect(await study({ points: join(folder, 'points.json') })).toMatchObject({
      vary: [{ name: 'speed' }, { name: 'oil', kind: 'TEXT' }],
      plan: { kind: 'LIST', points: [{ speed: 500, oil: 'a' }] },
    });
    expect(await study({ points: join(folder, 'points.csv') })).toMatchObject({
      vary: [{ name: 'speed' }, { name: 'oil', kind: 'TEXT' }],
      plan: { kind: 'TABLE', delimiter: ';', decimal: ',' },
    });
  });

  it.each([
    [
      'stress=result.json#$.a[0]',
      { kind: 'FILE', path: 'result.json' },
      { kind: 'JSON_PATH', path: '$.a[0]' },
    ],
    [
      'f=out/m.csv:force:max',
      { kind: 'FILE', path: 'out/m.csv' },
      { kind: 'CSV', column: 'force', take: 'MAX' },
    ],
    ['f=m.csv:3', { kind: 'FILE', path: 'm.csv' }, { kind: 'CSV', column: 3, take: 'LAST' }],
    [
      'f=m.csv;force;min',
      { kind: 'FILE', path: 'm.csv' },
      { kind: 'CSV', column: 'force', take: 'MIN', delimiter: ';' },
    ],
    ['t=log~took (\\S+) s', { kind: 'LOG' }, { kind: 'REGULAR_EXPRESSION', pattern: 'took (\\S+) s' }],
  ])('read the value %s', async (value, source, reader) => {
    const [rule] = (await study({ vary: ['x=1'], value: [value] })).values ?? [];
    expect(rule).toEqual({ name: value.slice(0, value.indexOf('=')), source, reader });
  });

  it.each([
    [{ name: undefined, vary: ['x=1'] }, 'Give the study a name'],
    [{}, 'Give either --vary for each variable, or --points'],
    [{ vary: ['x=1'], points: 'p.json' }, 'Give either --vary'],
    [{ vary: ['x'] }, '--vary x must be like'],
    [{ vary: ['x=1:2:3:4'] }, '--vary x=1:2:3:4 must be like'],
    [{ vary: ['x=1:2'] }, '--vary x has bounds only'],
    [{ vary: ['x=1:2'], plan: 'sobol' as const }, '--plan sobol needs the number of points'],
    [{ vary: ['x=1'], value: ['stress'] }, '--value stress must be like'],
    [{ vary: ['x=1'], value: ['f=m.csv:force:middle'] }, 'middle must be one of first, last'],
    [{ points: 'absent.json' }, 'absent.json cannot be read'],
  ])('%j are refused', async (options, message) => {
    await expect(study(options as Partial<StudyOptions>)).rejects.toThrow(message);
  });

  it('refuse a file without a list of points', async () => {
    const points = join(folder, 'bad.json');
    await expect(study({ points })).rejects.toThrow('must have a list of points');
  });
});
