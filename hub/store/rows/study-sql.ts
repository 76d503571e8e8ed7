/** SQL of studies that is the same in both stores. */
import { FAILURES } from '../../core/studies/stop-rules.js';
import { GROWING_STATES, STUDY_TRANSITIONS } from '../../core/studies/study.js';
import { STUDY_COLUMNS } from './study-row.js';

/** SQL list of states from which a transition begins. */
export function statesBefore(transition: keyof typeof STUDY_TRANSITIONS): string {
  return listOf(STUDY_TRANSITIONS[transition].from);
}

/** SQL list of the outcomes that count as failures. */
export const FAILED = listOf(FAILURES);

/** SQL list of states in which a study takes further points. */
export const GROWING = listOf(GROWING_STATES);

/** Assignments by which a finished study runs again from the time of the parameter `now` on, and any other stays as it is. */
export const runAgain = (now: '@now' | ':now') => `
  running_since_at = CASE state WHEN 'FINISHED' THEN ${now} ELSE running_since_at END,
  resume_count = CASE state WHEN 'FINISHED' THEN resume_count + 1 ELSE resume_count END,
  message = CASE state WHEN 'FINISHED' THEN NULL ELSE message END,
  ended_at = CASE state WHEN 'FINISHED' THEN NULL ELSE ended_at END,
  state = CASE state WHEN 'FINISHED' THEN 'RUNNING' ELSE state END`;

/** Names and columns of a table of studies, as the arguments of an SQL function that builds a JSON object. */
export function namedColumns(table: string): string {
  return STUDY_COLUMNS.split(', ')
    .map((column) => `'${column}', ${table}.${column}`)
    .join(', ');
}

function listOf(states: readonly string[]): string {
  return `(${states.map((state) => `'${state}'`).join(', ')})`;
}
