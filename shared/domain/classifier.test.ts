import { describe, expect, it } from 'vitest';
import { type Classifier, classify, requirementKey, requirementOfKey, withModelType } from './classifier.js';

describe('classifiers', () => {
  it('default to the default version and normal priority', () => {
    expect(classify([], '9.*')).toEqual({
      requirement: { version: '9.*', labels: [] },
      priority: 'NORMAL',
      errors: [],
    });
  });

  it('contain a version, a priority and labels; several lists of labels add up', () => {
    const { requirement, priority, errors } = classify(
      [
        { type: 'LABLES', value: 'Linux, gears' },
        { type: 'VERSION', value: ' 9.1.? ' },
        { type: 'PRIORITY', value: 'high' },
        { type: 'LABLES', value: 'GEARS,,fast ' },
      ],
      '8',
    );
    expect(errors).toEqual([]);
    expect(priority).toBe('HIGH');
    expect(requirement).toEqual({ version: '9.1.?', labels: ['fast', 'gears', 'linux'] });
  });

  it('are invalid when repeated, empty or unknown', () => {
    const { errors } = classify(
      [
        { type: 'VERSION', value: ' ' },
        { type: 'VERSION', value: '9' },
        { type: 'PRIORITY', value: 'URGENT' },
        { type: 'LABLES', value: ' , ' },
      ],
      null,
    );
    expect(errors.map(({ index, member }) => [index, member])).toEqual([
      [0, 'value'],
      [1, 'type'],
      [2, 'value'],
      [3, 'value'],
    ]);
    expect(errors[2]?.message).toContain('HIGHEST, HIGH, NORMAL, LOW, LOWEST');
  });

  it.each<[string, Classifier[]]>([
    ['a version that is longer than any pattern may be', [{ type: 'VERSION', value: `*${'9'.repeat(256)}` }]],
    ['a label that is longer than any', [{ type: 'LABLES', value: `gears,${'x'.repeat(201)}` }]],
    [
      'more labels than an instance may carry',
      [150, 0].map((from) => ({
        type: 'LABLES' as const,
        value: Array.from({ length: 150 }, (_, at) => `label-${from + at}`).join(),
      })),
    ],
  ])('are invalid with %s', (_, classifiers) => {
    const { errors } = classify(classifiers, null);
    expect(errors).toMatchObject([{ index: classifiers.length - 1, member: 'value' }]);
    expect(errors[0]?.message).toMatch(/at most 256 characters|at most 200 characters|more than 200 labels/);
  });

  it('may have the longest version and label, and as many labels as an instance', () => {
    const labels = Array.from({ length: 200 }, (_, at) => `${at}`.padEnd(200, 'x'));
    const classifiers = [
      { type: 'VERSION', value: '9'.repeat(256) },
      { type: 'LABLES', value: labels.slice(0, 45).join() },
      { type: 'LABLES', value: labels.join() },
    ] as const;
    expect(classify(classifiers, null).errors).toEqual([]);
  });

  it('of the same requirement have the same key, which can be parsed', () => {
    const one = classify([{ type: 'LABLES', value: 'b,A' }], null).requirement;
    const other = classify([{ type: 'LABLES', value: 'a, B' }], null).requirement;
    expect(requirementKey(one)).toBe(requirementKey(other));
    expect(requirementOfKey(requirementKey(one))).toEqual(one);
    expect(requirementKey({ version: null, labels: [] })).not.toBe(
      requirementKey({ version: 'null', labels: [] }),
    );
  });
});

describe('the key of a requirement', () => {
  it('has the type of the model at its end, and is the same as ever without one', () => {
    const requirement = { version: '9.*', labels: ['gears'] };
    expect(requirementKey(requirement)).toBe('["9.*",["gears"]]');
    expect(requirementOfKey('["9.*",["gears"]]')).toEqual(requirement);
    const withModel = withModelType(requirement, 'INP');
    expect(requirementKey(withModel)).toBe('["9.*",["gears"],"INP"]');
    expect(requirementOfKey(requirementKey(withModel))).toEqual(withModel);
    expect(withModelType(requirement, null)).toEqual(requirement);
  });

  it('tells bundles from other tasks', () => {
    const requirement = { version: '9.*', labels: ['gears'], points: true } as const;
    expect(requirementKey(requirement)).toBe('["9.*",["gears"],null,null,"POINTS"]');
    for (const each of [
      requirement,
      { ...requirement, modelType: 'INP' },
      { ...requirement, instanceId: 'a' },
    ])
      expect(requirementOfKey(requirementKey(each))).toEqual(each);
  });
});
