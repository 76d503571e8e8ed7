/** A study for screens that only name it. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { StudyDetails } from '@workbench-hub/client';
import { hub } from './hub.js';

/** The study with this id, as it was at the first request; fails with a {@link NotFoundError} when it is deleted. */
export function useNamedStudy(id: string | undefined): UseQueryResult<StudyDetails> {
  return useQuery({
    queryKey: ['named-study', id],
    queryFn: ({ signal }) => hub.study(id ?? '').details(signal),
    enabled: id !== undefined,
  });
}
