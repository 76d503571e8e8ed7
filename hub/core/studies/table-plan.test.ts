import { describe, expect, it } from 'vitest';
import { pointsOfRows } from './table-plan.js';
import type { StudyVariable } from './variables.js';

const variable = (name: string, kind: StudyVariable['kind'] = 'NUMBER'): StudyVariable => ({
  ...{ name, kind, unit: null, lower: null, upper: null, scale: 'LINEAR' },
});
const VARIABLES = [variable('speed'), variable('oil', 'TEXT')];
const faultsOf = (rows: readonly (readonly string[])[], decimal: '.' | ',' = '.') => {
  const result = pointsOfRows(VARIABLES, rows, decimal);
  return 'errors' in result ? result.errors.map(({ what }) => what) : [];
};

describe('the points of a table', () => {
  it('are its rows, whatever the order of the columns', () => {
    const rows = [
      ['oil', 'speed'],
      ['ISO 46', '1.5e3'],
      ['', '-2'],
    ];
    expect(pointsOfRows(VARIABLES, rows, '.')).toEqual({
      plan: {
        kind: 'LIST',
        points: [
          { speed: 1500, oil: 'ISO 46' },
          { speed: -2, oil: '' },
        ],
      },
    });
  });

  it('may have decimal commas', () => {
    expect(pointsOfRows([variable('x')], [['x'], ['0,5']], ',')).toEqual({
      plan: { kind: 'LIST', points: [{ x: 0.5 }] },
    });
  });

  it.each([
    [[], 'must have a column speed; its header is ""'],
    [[['speed', 'speed', 'oil']], 'must have the column "speed" once only'],
    [[['speed', 'oil', 'load']], 'must have no column "load"; the variables are speed, oil'],
    [
      [Array.from({ length: 30_000 }, (_, at) => `c${at}`)],
      'must have a column for each variable; it has 30000, and the variables are speed, oil',
    ],
    [[['speed', 'oil'], ['1']], 'row 2 has 1 cells, and the header 2'],
    [
      [
        ['speed', 'oil'],
        ['1', 'a'],
        ['fast', 'b'],
      ],
      'row 3, column speed: "fast" is no number',
    ],
    [
      [
        ['speed', 'oil'],
        ['', 'a'],
      ],
      'row 2, column speed: "" is no number',
    ],
    [
      [
        ['speed', 'oil'],
        ['1,5', 'a'],
      ],
      'row 2, column speed: "1,5" is no number; the decimal sign of this table is "."',
    ],
  ])('of %j are refused by row and column', (rows, fault) => {
    expect(faultsOf(rows)).toContain(fault);
  });

  it('name the other decimal sign', () => {
    expect(
      faultsOf(
        [
          ['speed', 'oil'],
          ['1.5', 'a'],
        ],
        ',',
      ),
    ).toEqual(['row 2, column speed: "1.5" is no number; the decimal sign of this table is ","']);
  });
});
