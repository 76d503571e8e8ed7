import type { TaskDetails } from '@workbench-hub/client';
import { describe, expect, it } from 'vitest';
import {
  type Draft,
  type DraftFile,
  draftOfTask,
  EMPTY_DRAFT,
  faultsOf,
  jobOf,
  withFileMoved,
  withFiles,
  withProgram,
  withRole,
} from './draft.js';

let ids = 0;
const newId = () => `file ${++ids}`;

function draftWith(...paths: string[]): Draft {
  return withFiles(
    EMPTY_DRAFT,
    paths.map((path) => ({ path, content: new Blob([path]) })),
    newId,
  );
}

const rolesOf = ({ files }: Draft) => Object.fromEntries(files.map(({ path, role }) => [path, role]));
const pathsOf = ({ files }: Draft) => files.map(({ path }) => path);
const idOf = ({ files }: Draft, path: string) => files.find((file) => file.path === path)?.id ?? '';
const load = async ({ content }: DraftFile) => content as Blob;

/** A task with a model and a script of these names. */
function taskWith(model: string | undefined, script: string | undefined): TaskDetails {
  const named = (filename: string | undefined) => (filename === undefined ? {} : { filename });
  const inputs = [
    { kind: 'MODEL', path: 'model/model.mjcf', size: 7, digest: '', ...named(model) },
    { kind: 'SCRIPT', path: 'scripts/1', size: 7, digest: '', ...named(script) },
  ];
  return { id: 'T', priority: 'NORMAL', classifiers: [], variables: [], inputs } as unknown as TaskDetails;
}

describe('files that are added', () => {
  it('get the roles that they likely have', () => {
    expect(
      rolesOf(draftWith('gear.xml', 'other.xml', 'run.js', 'report.sh', 'data.csv', 'mesh/run.py')),
    ).toEqual({
      'gear.xml': 'MODEL',
      'other.xml': 'FILE',
      'run.js': 'SCRIPT',
      'report.sh': 'SCRIPT',
      'data.csv': 'FILE',
      'mesh/run.py': 'FILE',
    });
  });

  it('replace those of the same path, and keep their role', () => {
    const draft = withRole(draftWith('run.js', 'data.csv'), 'none', 'FILE');
    const asFile = withRole(draft, idOf(draft, 'run.js'), 'FILE');
    const again = withFiles(asFile, [{ path: 'run.js', content: new Blob(['longer']) }], newId);
    expect(pathsOf(again)).toEqual(['run.js', 'data.csv']);
    expect(again.files[0]).toMatchObject({ size: 6, role: 'FILE' });
  });

  it('have one model among them', () => {
    const draft = draftWith('gear.xml', 'other.xml');
    expect(rolesOf(withRole(draft, idOf(draft, 'other.xml'), 'MODEL'))).toEqual({
      'gear.xml': 'FILE',
      'other.xml': 'MODEL',
    });
  });

  it('change places within their role', () => {
    const draft = draftWith('one.js', 'data.csv', 'two.js');
    expect(pathsOf(withFileMoved(draft, idOf(draft, 'two.js'), -1))).toEqual([
      'two.js',
      'data.csv',
      'one.js',
    ]);
    expect(withFileMoved(draft, idOf(draft, 'one.js'), -1)).toBe(draft);
  });
});

describe('a draft', () => {
  it('has the faults that the hub would refuse', () => {
    const variables = [
      { key: 'a', value: '1' },
      { key: 'a', value: '2' },
      { key: '', value: '3' },
      { key: '', value: '' },
    ];
    expect(faultsOf({ ...EMPTY_DRAFT, variables, timeLimitS: '1.5' })).toEqual([
      'noScript',
      'noKey',
      'twoKeys',
      'timeLimit',
    ]);
    expect(faultsOf({ ...draftWith('run.js'), timeLimitS: '60' })).toEqual([]);
    expect(faultsOf({ ...EMPTY_DRAFT, simulatedS: '' })).toEqual(['noSeconds']);
    expect(faultsOf({ ...EMPTY_DRAFT, simulatedS: '5' })).toEqual([]);
  });

  it('becomes a job with its files in their roles and their order', async () => {
    const draft = {
      ...draftWith('gear.xml', 'one.js', 'mesh/a.stl', 'two.js'),
      labels: ['gpu'],
      version: ' 9.* ',
      timeLimitS: '60',
      note: ' softer bearing\n',
    };
    const job = await jobOf(
      {
        ...draft,
        variables: [
          { key: 'n', value: '1' },
          { key: '', value: '' },
        ],
      },
      load,
    );
    expect(job).toMatchObject({
      labels: ['gpu'],
      version: '9.*',
      timeLimitS: 60,
      note: 'softer bearing',
      variables: { n: '1' },
    });
    expect((job.model as File).name).toBe('gear.xml');
    expect(await Promise.all(job.scripts.map((script) => (script as Blob).text()))).toEqual([
      'one.js',
      'two.js',
    ]);
    expect(Object.keys(job.files ?? {})).toEqual(['mesh/a.stl']);
    expect(job).not.toHaveProperty('priority');
    expect(await jobOf(draftWith('one.js'), load)).not.toHaveProperty('note');
  });

  it('gives a script a first line for its program, the likely one or the chosen one', async () => {
    const draft = draftWith('one.py', 'two.sh');
    const chosen = withProgram(draft, idOf(draft, 'two.sh'), 'own');
    const { scripts } = await jobOf(chosen, load);
    expect(await Promise.all(scripts.map((script) => (script as Blob).text()))).toEqual([
      '#!/usr/bin/env python3\none.py',
      'two.sh',
    ]);
  });

  it('of simulated work keeps its seconds', () => {
    const task = { id: 'T', priority: 'NORMAL', classifiers: [], variables: [], inputs: [], duration: 5 };
    expect(draftOfTask(task as unknown as TaskDetails)).toMatchObject({ simulatedS: '5', files: [] });
  });

  it('is made of a task, with files that stay at the hub', () => {
    const task = {
      id: 'T',
      name: 'gear',
      note: 'softer bearing',
      priority: 'HIGH',
      classifiers: [
        { type: 'VERSION', value: '9.*' },
        { type: 'LABLES', value: 'gears, linux' },
        { type: 'LABLES', value: 'large' },
      ],
      timeLimit: 60,
      variables: [{ key: 'n', value: '1' }],
      inputs: [
        { kind: 'MODEL', path: 'model/gear.xml', size: 5, digest: '' },
        { kind: 'SCRIPT', path: 'scripts/1', size: 6, digest: '' },
        { kind: 'ADDITIONAL_FILE', path: 'files/mesh/a.stl', size: 7, digest: '' },
      ],
    } as unknown as TaskDetails;
    const draft = draftOfTask(task);
    expect(draft).toMatchObject({
      name: 'gear (2)',
      note: 'softer bearing',
      version: '9.*',
      labels: ['gears', 'linux', 'large'],
      priority: 'HIGH',
      timeLimitS: '60',
    });
    expect(rolesOf(draft)).toEqual({ 'gear.xml': 'MODEL', 'script-1': 'SCRIPT', 'mesh/a.stl': 'FILE' });
    expect(draft.files[0]).toMatchObject({ modelType: 'XML' });
    expect(draft).not.toHaveProperty('simulatedS');
    expect(draft.files[1]?.content).toEqual({ taskId: 'T', inputPath: 'scripts/1' });
  });

  it.each([true, false])('has the model of the host copied as the task had: %s', async (copied) => {
    const hostModel = { path: '/models/gear.inp', copied };
    const task = { id: 'T', priority: 'NORMAL', classifiers: [], variables: [], inputs: [], hostModel };
    const { model } = await jobOf(draftOfTask(task as unknown as TaskDetails), load);
    expect(model).toEqual({ hostPath: '/models/gear.inp', copied });
  });

  it('is made of a task with the names that its model and scripts were handed in with', async () => {
    const draft = draftOfTask(taskWith('ball.txt', 'throw.py'));
    expect(rolesOf(draft)).toEqual({ 'ball.txt': 'MODEL', 'throw.py': 'SCRIPT' });
    const { model, modelType, scripts } = await jobOf(draft, async () => new Blob(['content']));
    expect([(model as File).name, modelType]).toEqual(['ball.txt', 'MJCF']);
    expect((scripts[0] as File).name).toBe('throw.py');
    expect(await (scripts[0] as File).text(), 'the script as it was').toBe('content');
  });

  it('makes no name of what it shows for a model and a script without one', async () => {
    const draft = draftOfTask(taskWith(undefined, undefined));
    expect(rolesOf(draft)).toEqual({ 'model.mjcf': 'MODEL', 'script-1': 'SCRIPT' });
    const { model, modelType, scripts } = await jobOf(draft, async () => new Blob(['content']));
    expect([model, ...scripts].map((file) => file instanceof File)).toEqual([false, false]);
    expect(modelType).toBe('MJCF');
  });
});
