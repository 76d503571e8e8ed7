import type { TaskDetails } from '@workbench-hub/client';
import { Store } from '../../../base/store.js';
import type { Draft } from '../../new-job/draft.js';
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

/** Begins a study of a job, unless the one that is there is of the same task. */
export function goOnWith({ earlierTaskId, name }: Draft): void {
  const study = studyStore.get();
  if (study.earlierTaskId === earlierTaskId && study !== EMPTY_STUDY) return;
  studyStore.set({ ...EMPTY_STUDY, earlierTaskId, name });
}
