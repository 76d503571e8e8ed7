import { afterAll, beforeEach, expect, it, vi } from 'vitest';

const session = { state: { get: () => ({ status: 'starting' }), subscribe: () => () => undefined } };
vi.mock('../../../data/hub.js', () => ({ hub: {}, session }));
// Other files of this process may have loaded these modules with another session, and shall not have this one.
vi.resetModules();
afterAll(() => vi.resetModules());
const { EMPTY_DRAFT } = await import('../../new-job/draft.js');
const { beginDraft, draftStore } = await import('../../new-job/draft-store.js');
const { EMPTY_STUDY, variedAround } = await import('./study-draft.js');
const { changeStudy, goOnWith, studyStore } = await import('./study-store.js');

const VARIABLES = ['speed', 'load'].map((key) => ({ key, value: '1' }));
const JOB = { ...EMPTY_DRAFT, name: 'gear', variables: VARIABLES };
const varied = () => studyStore.get().varied.map(({ name }) => name);

beforeEach(() => {
  studyStore.set(EMPTY_STUDY);
  draftStore.set(JOB);
  goOnWith(JOB);
  changeStudy({ varied: VARIABLES.map(({ key, value }) => variedAround(key, value)), count: '7' });
});

it('goes on as it was when the values of its job have changed', () => {
  const before = studyStore.get();
  goOnWith({ ...JOB, variables: VARIABLES.map(({ key }) => ({ key, value: '2' })) });
  expect(studyStore.get()).toBe(before);
});

it('varies no variable that its job no longer has', () => {
  goOnWith({ ...JOB, variables: VARIABLES.slice(1) });
  expect(varied()).toEqual(['load']);
  expect(studyStore.get().count).toBe('7');
});

it('is given up when its job is: by starting over, or by a template', () => {
  draftStore.set(EMPTY_DRAFT);
  expect(studyStore.get()).toBe(EMPTY_STUDY);
  draftStore.set(JOB);
  goOnWith(JOB);
  changeStudy({ count: '7' });
  beginDraft({ ...JOB });
  expect(studyStore.get()).toBe(EMPTY_STUDY);
});
