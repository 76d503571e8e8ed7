/** A study for screens that only name it. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { NotFoundError, type StudyDetails } from '@workbench-hub/client';
import { hub } from './hub.js';

/** The study with this id, as it was at the first request; null when it is deleted. */
export function useNamedStudy(id: string | undefined): UseQueryResult<StudyDetails | null> {
  return useQuery({
    queryKey: ['named-study', id],
    queryFn: ({ signal }) => studyOrNull(id ?? '', signal),
    enabled: id !== undefined,
  });
}

/** An answer, since an error would be forgotten while the hub is asked again. */
async function studyOrNull(id: string, signal: AbortSignal): Promise<StudyDetails | null> {
  try {
    return await hub.study(id).details(signal);
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
