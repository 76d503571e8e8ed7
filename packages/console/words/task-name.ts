import { useCommonWords } from './common.js';

/** Characters at the end of an id that name a task in lists: its beginning is a time, which many tasks share. */
const SHORT_ID_LENGTH = 8;

export function shortIdOf(id: string): string {
  return id.slice(-SHORT_ID_LENGTH);
}

type Named = { readonly id: string; readonly name?: string | undefined };

/** Gives the name of a task; one without a name is called by its short id. */
export function useTaskName(): (task: Named) => string {
  const common = useCommonWords();
  return ({ id, name }) => name ?? common.unnamed(shortIdOf(id));
}
