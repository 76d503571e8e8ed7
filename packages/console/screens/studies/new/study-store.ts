import type { TaskDetails } from '@workbench-hub/client';
import { Store } from '../../../base/store.js';
import { type Draft, EMPTY_DRAFT } from '../../new-job/draft.js';
import { draftStore } from '../../new-job/draft-store.js';
import { EMPTY_STUDY, type StudyDraft, type VariedVariable } from './study-draft.js';

/** The study that is being put together; it stays while its job is changed. */
export const studyStore = new Store<StudyDraft>(EMPTY_STUDY);

export function changeStudy(change: Partial<StudyDraft>): void {
  studyStore.set({ ...studyStore.get(), ...change });
}

/** Changes a varied variable. */
export function changeVaried(name: string, change: Partial<VariedVariable>): void {
  const { varied } = studyStore.get();
  changeStudy({ varied: varied.map((each) => (each.name === name ? { ...each, ...change } : each)) });
}

/** Begins a study of the job of a task. */
export function beginStudy({ id, name = '' }: Pick<TaskDetails, 'id' | 'name'>): void {
  studyStore.set({ ...EMPTY_STUDY, earlierTaskId: id, name });
}

/** Begins a study of a job. One that is there goes on if it is of the same task, with the variables that the job still has. */
export function goOnWith({ earlierTaskId, name, variables }: Draft): void {
  const study = studyStore.get();
  if (study.earlierTaskId !== earlierTaskId || study === EMPTY_STUDY) {
    studyStore.set({ ...EMPTY_STUDY, earlierTaskId, name });
    return;
  }
  const varied = study.varied.filter((each) => variables.some(({ key }) => key === each.name));
  if (varied.length < study.varied.length) changeStudy({ varied });
}

// Another job is begun: its study is another one, too.
draftStore.subscribe(() => {
  if (draftStore.get() === EMPTY_DRAFT) studyStore.set(EMPTY_STUDY);
});
