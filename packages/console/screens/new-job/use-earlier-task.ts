import { useQuery } from '@tanstack/react-query';
import type { TaskDetails } from '@workbench-hub/client';
import { useLayoutEffect, useRef } from 'react';
import { useSearch } from 'wouter';
import { useSteadyError } from '../../base/use-steady-error.js';
import { hub } from '../../data/hub.js';
import { draftOfTask, EMPTY_DRAFT } from './draft.js';
import { draftStore } from './draft-store.js';

interface EarlierTask {
  readonly id: string;
  /** Name of the task; undefined while it is not known, and when it has none. */
  readonly name?: string;
  readonly isLoading: boolean;
  readonly error: Error | null;
  /** Whether it ran several points of a study: such a job cannot run again, so it is not taken. */
  readonly isBundle: boolean;
  /** Id of the study of which it is a point; undefined for none. */
  readonly studyId: string | undefined;
  /** Asks for the task again after a failure. */
  readonly again: () => void;
}

/**
 * The task `?from=` whose job is run again; its job becomes the draft, once for an entry of the history: on the way back, the draft
 * stays as it was changed. Undefined for a new job.
 */
export function useEarlierTask(onTaken?: (task: TaskDetails) => void): EarlierTask | undefined {
  const from = new URLSearchParams(useSearch()).get('from') ?? undefined;
  const query = useQuery({
    queryKey: ['new-job', 'from', from],
    enabled: from !== undefined,
    queryFn: ({ signal }) => hub.task(from ?? '').details(signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const { data: task, refetch } = query;
  const error = useSteadyError(query);
  const taken = useRef<string>(undefined);
  // Before the draft is shown, so that nothing that is typed is lost.
  useLayoutEffect(() => {
    // Once: the task may change afterwards.
    if (task === undefined || taken.current === task.id) return;
    taken.current = task.id;
    if (task.points !== undefined) return;
    if (wasTaken(task.id) && draftStore.get() !== EMPTY_DRAFT) return;
    markTaken(task.id);
    draftStore.set(draftOfTask(task));
    onTaken?.(task);
  }, [task, onTaken]);
  if (from === undefined) return undefined;
  const isLoading = task === undefined && error === null;
  const again = () => void refetch();
  const isBundle = task?.points !== undefined;
  const studyId = task?.study?.id;
  return {
    id: from,
    isLoading,
    error,
    isBundle,
    studyId,
    again,
    ...(task?.name === undefined ? {} : { name: task.name }),
  };
}

/** Whether the draft was taken from this task at the present entry of the history. */
function wasTaken(id: string): boolean {
  const state: unknown = history.state;
  return typeof state === 'object' && state !== null && 'takenFrom' in state && state.takenFrom === id;
}

function markTaken(id: string): void {
  history.replaceState({ ...(history.state as object | null), takenFrom: id }, '');
}
