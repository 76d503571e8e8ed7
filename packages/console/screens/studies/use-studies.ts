/** Studies of the hub, as far as they were asked for. */
import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { hub } from '../../data/hub.js';

export const STUDIES_KEY = ['studies'];

const WINDOW = 50;
/** Time after which the studies are asked for again. More windows take as many requests. */
const EVERY_MS = 2000;
const MANY_WINDOWS_EVERY_MS = 10_000;

/** Studies, newest first, a window at a time. */
export function useStudies(): UseInfiniteQueryResult<InfiniteData<api.StudyList, string | undefined>> {
  return useInfiniteQuery({
    queryKey: [...STUDIES_KEY, 'list'],
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: api.StudyList) => next,
    refetchInterval: ({ state: { data } }) =>
      (data?.pages.length ?? 0) > 1 ? MANY_WINDOWS_EVERY_MS : EVERY_MS,
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: WINDOW, ...(pageParam === undefined ? {} : { after: pageParam }) };
      return (await api.listStudies({ client: hub.client, query, signal, throwOnError: true })).data;
    },
  });
}
