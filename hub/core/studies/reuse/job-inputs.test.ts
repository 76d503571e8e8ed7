import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { BatchJob } from '@workbench-hub/shared/domain/job';
import { describe, expect, it } from 'vitest';
import { comparedVariables } from './compared-variables.js';
import { firstDifference, inputsOf } from './job-inputs.js';

const file = (letter: string) => ({ digest: letter.repeat(64), sizeBytes: 1 });
const JOB: BatchJob = {
  type: 'EXECUTE_BATCH_JOB',
  model: { kind: 'BLOB', path: 'model.xml', ...file('a') },
  scripts: [file('b'), file('c')],
  additionalFiles: [
    { path: 'mesh', ...file('d') },
    { path: 'loads', ...file('e') },
  ],
  variables: [],
};
const ANY: Requirement = { version: null, labels: [] };

describe('two jobs', () => {
  const whatDiffers = (changed: Partial<BatchJob>, requirement = ANY) =>
    firstDifference(inputsOf({ ...JOB, ...changed }, requirement), inputsOf(JOB, ANY))?.what;

  it('are equal whatever the names of scripts and the order of files', () => {
    const scripts = JOB.scripts.map((script) => ({ ...script, filename: 'another.js' }));
    expect(whatDiffers({ scripts, additionalFiles: JOB.additionalFiles.toReversed() })).toBeUndefined();
  });

  it.each([
    [{ model: null }, 'the model is none instead of model.xml aaaaaaaaaaaa'],
    [{ scripts: [file('b')] }, 'the number of scripts is 1 instead of 2'],
    [{ scripts: [file('b'), file('f')] }, 'scripts[1] is ffffffffffff instead of cccccccccccc'],
    [{ additionalFiles: [{ path: 'loads', ...file('e') }] }, 'the file mesh is only in the earlier job'],
    [
      { additionalFiles: [...JOB.additionalFiles, { path: 'more', ...file('e') }] },
      'the file more is only in the new job',
    ],
    [
      { additionalFiles: [{ path: 'loads', ...file('0') }, ...JOB.additionalFiles.slice(0, 1)] },
      'the file loads is 000000000000 instead of eeeeeeeeeeee',
    ],
  ])('differ by %j', (changed, what) => {
    expect(whatDiffers(changed)).toBe(what);
  });

  it('differ by what they require', () => {
    expect(whatDiffers({}, { version: '9.*', labels: [] })).toBe(
      'the required version is 9.* instead of any',
    );
    expect(whatDiffers({}, { version: null, labels: ['a', 'b'] })).toBe(
      'the list of required labels is a, b instead of none',
    );
  });
});

describe('variables of an earlier job', () => {
  const compared = (...earlier: readonly (readonly [string, string])[]) =>
    comparedVariables({ fixed: new Map([['k', '1']]), names: ['x', 'y'] }, new Map(earlier));

  it('have their texts in the order of the study', () => {
    expect(compared(['y', '3'], ['k', '1'], ['x', '2'])).toEqual({ texts: ['2', '3'] });
  });

  it.each([
    [compared(['x', '2'], ['y', '3']), 'variable k is only in the new job'],
    [compared(['k', '2'], ['x', '2'], ['y', '3']), 'variable k is 1 instead of 2'],
    [compared(['k', '1'], ['x', '2']), 'variable y is only in the new job'],
    [compared(['k', '1'], ['x', '2'], ['y', '3'], ['z', '4']), 'variable z is only in the earlier job'],
  ])('differ: %j', (found, what) => {
    expect(found).toEqual({ what });
  });
});
