import { describe, expect, it } from 'vitest';
import { planned, type StudyPlan } from './plans.js';
import type { PointValue, StudyVariable } from './variables.js';

function variable(name: string, rest: Partial<StudyVariable> = {}): StudyVariable {
  return { name, kind: 'NUMBER', unit: null, lower: null, upper: null, scale: 'LINEAR', ...rest };
}

const force = variable('force', { unit: 'N', lower: 0, upper: 100 });
const cells = variable('cells', { kind: 'INTEGER', lower: 1, upper: 10 });
const material = variable('material', { kind: 'TEXT' });
const variables = [force, cells, material];

/** All points of a plan without errors. */
function pointsOf(plan: StudyPlan, of: readonly StudyVariable[] = variables): (readonly PointValue[])[] {
  const result = planned(of, plan, 10_000);
  if (!('points' in result)) throw new Error(JSON.stringify(result.errors));
  const { points } = result;
  return Array.from({ length: points.count }, (_, index) => points.at(index));
}

/** Errors of a plan, as `where: what`. */
function errorsOf(plan: StudyPlan, of: readonly StudyVariable[] = variables, maxPoints = 100): string[] {
  const result = planned(of, plan, maxPoints);
  return 'errors' in result ? result.errors.map(({ where, what }) => `${where}: ${what}`) : [];
}

describe('a list', () => {
  it('has its points in order, with the values in the order of the variables', () =>
    expect(
      pointsOf({
        kind: 'LIST',
        points: [
          { material: 'steel', cells: 2, force: 0.5 },
          { force: 100, cells: 1, material: '' },
        ],
      }),
    ).toEqual([
      [0.5, 2, 'steel'],
      [100, 1, ''],
    ]));

  it('is refused for each value that is missing, unknown, of the wrong kind or out of bounds', () =>
    expect(
      errorsOf({
        kind: 'LIST',
        points: [
          { force: 1, cells: 1 },
          { force: 1, cells: 1, material: 'a', speed: 3 },
          { force: '1', cells: 1.5, material: 7 },
          { force: Number.NaN, cells: 11, material: 'a' },
        ],
      }),
    ).toEqual([
      'plan.points[0].material: must have a value',
      'plan.points[1]: names "speed", which is no variable of the study (force, cells, material)',
      'plan.points[2].force: must be a finite number, as force is a NUMBER',
      'plan.points[2].cells: must be a whole number within ±9007199254740991, as cells is an INTEGER',
      'plan.points[2].material: must be a text, as material is a TEXT',
      'plan.points[3].force: must be a finite number, as force is a NUMBER',
      'plan.points[3].cells: must be at most 10, the upper bound of cells',
    ]));

  it('does not take inherited properties for values', () =>
    expect(errorsOf({ kind: 'LIST', points: [{}] }, [variable('toString')])).toEqual([
      'plan.points[0].toString: must have a value',
    ]));

  it('is refused without points, and with too many', () => {
    expect(errorsOf({ kind: 'LIST', points: [] })).toEqual(['plan.points: must have at least one point']);
    expect(errorsOf({ kind: 'LIST', points: Array(101).fill({}) })).toEqual([
      'plan.points: gives 101 points, at most 100 are allowed (studies.maxPoints)',
    ]);
  });

  it('names the first 20 errors', () =>
    expect(errorsOf({ kind: 'LIST', points: Array(30).fill({}) })).toHaveLength(20));

  it('shows the first variables only, and the beginning of a long name', () => {
    const many = Array.from({ length: 12 }, (_, index) => variable(`v${index}`));
    const values = Object.fromEntries(many.map(({ name }) => [name, 1]));
    expect(errorsOf({ kind: 'LIST', points: [{ ...values, ['z'.repeat(5000)]: 1 }] }, many)).toEqual([
      `plan.points[0]: names "${'z'.repeat(60)}", which is no variable of the study (v0, v1, v2, v3, v4, v5, v6, v7, v8, v9 and 2 more)`,
    ]);
  });
});

describe('a grid', () => {
  const levels = [
    { variable: 'material', values: ['steel', 'brass'] },
    { variable: 'force', from: 0, to: 100, step: 50 },
    { variable: 'cells', from: 1, to: 3, count: 2 },
  ];

  it('changes the last variable fastest, in whichever order levels come', () =>
    expect(pointsOf({ kind: 'GRID', levels })).toEqual([
      [0, 1, 'steel'],
      [0, 1, 'brass'],
      [0, 3, 'steel'],
      [0, 3, 'brass'],
      [50, 1, 'steel'],
      [50, 1, 'brass'],
      [50, 3, 'steel'],
      [50, 3, 'brass'],
      [100, 1, 'steel'],
      [100, 1, 'brass'],
      [100, 3, 'steel'],
      [100, 3, 'brass'],
    ]));

  it('computes the points of a large grid one by one', () => {
    const axes = ['a', 'b', 'c', 'd'].map((name) => variable(name));
    const plan: StudyPlan = {
      kind: 'GRID',
      levels: axes.map(({ name }) => ({ variable: name, from: 0, to: 999, step: 1 })),
    };
    const result = planned(axes, plan, 1e12);
    if (!('points' in result)) throw new Error('has errors');
    expect(result.points.count).toBe(1e12);
    expect(result.points.at(123_456_789_012)).toEqual([123, 456, 789, 12]);
  });

  it('is refused without levels of a variable', () =>
    expect(errorsOf({ kind: 'GRID', levels: levels.slice(0, 2) })).toEqual([
      'plan.levels: must have levels of cells',
    ]));

  it('is refused for equal levels', () =>
    expect(
      errorsOf({ kind: 'GRID', levels: [...levels.slice(1), { variable: 'material', values: ['a', 'a'] }] }),
    ).toEqual(['plan.levels[2].values[1]: is given more than once']));

  it.each([
    [100, 'gives 10000 points'],
    [1e6, 'gives 1000000000000 points'],
    [1e15, 'gives more than 9007199254740991 points'],
    [1e300, 'gives more than 9007199254740991 points'],
  ])('is refused for %d × %d points without computing them', (count, what) => {
    const axis = { from: 0, to: count - 1, step: 1 };
    const plan: StudyPlan = {
      kind: 'GRID',
      levels: [
        { variable: 'a', ...axis },
        { variable: 'b', ...axis },
      ],
    };
    expect(errorsOf(plan, [variable('a'), variable('b')])).toEqual([
      `plan.levels: ${what}, at most 100 are allowed (studies.maxPoints)`,
    ]);
  });
});

describe('a plan that changes one variable at a time', () => {
  const base = { force: 50, cells: 2, material: 'steel' };

  it('has the base first, then each level that differs from it', () =>
    expect(
      pointsOf({
        kind: 'ONE_AT_A_TIME',
        base,
        levels: [
          { variable: 'material', values: ['brass', 'steel'] },
          { variable: 'force', from: 0, to: 100, step: 50 },
        ],
      }),
    ).toEqual([
      [50, 2, 'steel'],
      [0, 2, 'steel'],
      [100, 2, 'steel'],
      [50, 2, 'brass'],
    ]));

  it('has only the base without levels', () =>
    expect(pointsOf({ kind: 'ONE_AT_A_TIME', base, levels: [] })).toEqual([[50, 2, 'steel']]));

  it('is refused for errors in the base and the levels', () =>
    expect(
      errorsOf({
        kind: 'ONE_AT_A_TIME',
        base: { force: -1, cells: 2 },
        levels: [{ variable: 'force', values: [] }],
      }),
    ).toEqual([
      'plan.levels[0].values: must have at least one value',
      'plan.base.force: must be at least 0, the lower bound of force',
      'plan.base.material: must have a value',
    ]));

  it('is refused for equal levels', () =>
    expect(
      errorsOf({ kind: 'ONE_AT_A_TIME', base, levels: [{ variable: 'force', from: 1, to: 1, count: 3 }] }),
    ).toEqual(['plan.levels[0].count: must be smaller: 1 is a level twice']));

  it.each([
    [101, { from: 0, to: 100, step: 1 }, []],
    [
      100,
      { from: 0, to: 99.5, count: 100 },
      ['plan.levels: gives 101 points, at most 100 are allowed (studies.maxPoints)'],
    ],
    [
      100,
      { from: 0, to: 100, step: 1e-10 },
      ['plan.levels: gives at least 1000000000001 points, at most 100 are allowed (studies.maxPoints)'],
    ],
  ])('counts a level that is the base once, at most %d points: %j', (maxPoints, axis, errors) => {
    const levels = [{ variable: 'force', ...axis }];
    expect(errorsOf({ kind: 'ONE_AT_A_TIME', base, levels }, variables, maxPoints)).toEqual(errors);
  });
});

describe('a plan with a sequence', () => {
  const x = variable('x', { lower: -1, upper: 2.5 });
  const y = variable('y', { lower: 10, upper: 1000 });
  const rate = variable('rate', { lower: 0.001, upper: 10, scale: 'LOGARITHMIC' });

  // The points are written by SciPy 1.17.1, with qmc.scale.
  it('has a Latin hypercube within the bounds', () =>
    expect(pointsOf({ kind: 'LATIN_HYPERCUBE', count: 4, seed: 1 }, [x, y])).toEqual([
      [0.30215607838727543, 764.760235159331],
      [-0.25113966112967956, 22.709261833532146],
      [2.2271474794908253, 400.2267038792875],
      [0.9007602304071136, 651.2232137486326],
    ]));

  it('has a Sobol sequence within the bounds, by logarithms on a logarithmic scale', () => {
    const expected = [
      [-0.4558713873848319, 0.2264588539537492],
      [1.9343465087004006, 0.0026075978477244246],
      [1.1467095306143165, 2.733809877252862],
      [0.48215780640020967, 0.023658936894864646],
    ];
    const points = pointsOf({ kind: 'SOBOL', count: 4, seed: 1 }, [x, rate]);
    expect(points.map(([first]) => first)).toEqual(expected.map(([first]) => first));
    for (const [index, [, second]] of expected.entries()) {
      expect(Number(points[index]?.[1]) / (second as number)).toBeCloseTo(1, 12);
    }
  });

  it('gives each integer an equal share', () => {
    const die = variable('die', { kind: 'INTEGER', lower: 1, upper: 6 });
    for (const plan of [
      { kind: 'LATIN_HYPERCUBE', count: 600, seed: 3 },
      { kind: 'SOBOL', count: 600, seed: null },
    ] as const) {
      const values = pointsOf(plan, [die]).map(([value]) => value);
      for (const face of [1, 2, 3, 4, 5, 6]) {
        const share = values.filter((value) => value === face).length;
        expect(Math.abs(share - 100)).toBeLessThanOrEqual(plan.kind === 'SOBOL' ? 3 : 1);
      }
      expect(new Set(values).size).toBe(6);
    }
  });

  it.each([0, 1, 2, 3, 4])('never leaves the bounds, for the seed %d', (seed) => {
    const narrow = [
      variable('a', { lower: 0.1, upper: 0.3 }),
      variable('b', { lower: 0.1, upper: 0.7, scale: 'LOGARITHMIC' }),
      variable('c', { kind: 'INTEGER', lower: 1, upper: 1000, scale: 'LOGARITHMIC' }),
      variable('d', { lower: 5, upper: 5 }),
    ];
    for (const kind of ['LATIN_HYPERCUBE', 'SOBOL'] as const) {
      for (const point of pointsOf({ kind, count: 1000, seed }, narrow)) {
        for (const [position, { lower, upper }] of narrow.entries()) {
          expect(point[position]).toBeGreaterThanOrEqual(lower as number);
          expect(point[position]).toBeLessThanOrEqual(upper as number);
        }
        expect(Number.isInteger(point[2])).toBe(true);
      }
    }
  });

  it.each(['LATIN_HYPERCUBE', 'SOBOL'] as const)('is refused for a text or without both bounds: %s', (kind) =>
    expect(
      errorsOf({ kind, count: 4, seed: 1 }, [material, variable('a', { lower: 0 }), variable('b')]),
    ).toEqual([
      `variables[0].kind: must be NUMBER or INTEGER in a plan of kind ${kind}`,
      `variables[1].upper: must be given in a plan of kind ${kind}`,
      `variables[2].lower: must be given in a plan of kind ${kind}`,
      `variables[2].upper: must be given in a plan of kind ${kind}`,
    ]),
  );

  it.each([0, -1, 1.5, Number.NaN])('is refused for a count of %d', (count) =>
    expect(errorsOf({ kind: 'SOBOL', count, seed: null }, [x])).toEqual([
      'plan.count: must be a whole number of at least 1',
    ]),
  );

  it.each([-1, 0.5, 2 ** 53])('is refused for a seed of %d', (seed) =>
    expect(errorsOf({ kind: 'LATIN_HYPERCUBE', count: 1, seed }, [x])).toEqual([
      'plan.seed: must be a whole number from 0 to 9007199254740991',
    ]),
  );

  it('is refused for too many points', () => {
    expect(errorsOf({ kind: 'LATIN_HYPERCUBE', count: 101, seed: 1 }, [x])).toEqual([
      'plan.count: gives 101 points, at most 100 are allowed (studies.maxPoints)',
    ]);
    expect(errorsOf({ kind: 'SOBOL', count: 2 ** 30 + 1, seed: 1 }, [x], 2 ** 40)).toEqual([
      'plan.count: must be at most 1073741824 in a plan of kind SOBOL',
    ]);
  });

  it('is refused for a Sobol sequence of more than 50 variables', () => {
    const many = Array.from({ length: 51 }, (_, index) => variable(`v${index}`, { lower: 0, upper: 1 }));
    expect(errorsOf({ kind: 'SOBOL', count: 2, seed: 1 }, many)).toEqual([
      'variables: must be at most 50 in a plan of kind SOBOL; there are 51',
    ]);
    expect(errorsOf({ kind: 'SOBOL', count: 2, seed: 1 }, many.slice(1))).toEqual([]);
    expect(errorsOf({ kind: 'LATIN_HYPERCUBE', count: 2, seed: 1 }, many)).toEqual([]);
  });
});

describe('every plan', () => {
  it('may be open, without points at first', () => expect(pointsOf({ kind: 'OPEN' })).toEqual([]));

  it('needs a variable', () =>
    expect(errorsOf({ kind: 'GRID', levels: [] }, [])).toEqual([
      'variables: must have at least one variable',
    ]));

  it.each([-1, 4, 0.5])('has no point of index %d if it has four points', (index) => {
    const result = planned(
      [variable('a', { lower: 0, upper: 1 })],
      { kind: 'SOBOL', count: 4, seed: null },
      10,
    );
    expect(() => 'points' in result && result.points.at(index)).toThrow(RangeError);
  });
});
