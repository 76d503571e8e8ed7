import { queryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { api, TaskDetails } from '@workbench-hub/client';
import { hub } from '../../data/hub.js';
import { taskKey } from '../../data/live-cache.js';
import { queryClient } from '../../data/query-client.js';

/** The details of a task; changes arrive by the stream. */
export function useTask(id: string, isWanted = true): UseQueryResult<TaskDetails> {
  return useQuery({ ...detailsOf(id), enabled: isWanted });
}

/** Asks for the details before the screen of the task is drawn. */
export function prefetchTask(id: string): void {
  void queryClient.prefetchQuery(detailsOf(id));
}

function detailsOf(id: string) {
  return queryOptions({ queryKey: taskKey(id), queryFn: ({ signal }) => hub.task(id).details(signal) });
}

const EXPLAIN_EVERY_MS = 1000;

/** Why the task waits; asked again each second, since it depends on other tasks and on instances. */
export function useExplanation(id: string, isWaiting: boolean): UseQueryResult<api.TaskExplanation> {
  return useQuery({
    queryKey: taskKey(id, 'explain'),
    queryFn: () => hub.task(id).explain(),
    enabled: isWaiting,
    refetchInterval: EXPLAIN_EVERY_MS,
  });
}

export function isEnded({ status }: Pick<TaskDetails, 'status'>): boolean {
  return status !== 'WAITING' && status !== 'RUNNING';
}
