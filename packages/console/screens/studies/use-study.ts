/** A study and its points, which are asked for again while they change. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api, type StudyDetails, type StudyPoint } from '@workbench-hub/client';
import { hub } from '../../data/hub.js';
import { askAgain, queryClient } from '../../data/query-client.js';
import { areCounted, type FetchPoints, loadPoints } from './load-points.js';
import { STUDIES_KEY } from './use-studies.js';

const EVERY_MS = 2000;

export function studyKey(id: string): readonly string[] {
  return [...STUDIES_KEY, 'one', id];
}

export function useStudy(id: string): UseQueryResult<StudyDetails> {
  return useQuery({
    queryKey: studyKey(id),
    queryFn: ({ signal }) => hub.study(id).details(signal),
    refetchInterval: EVERY_MS,
  });
}

/** The points that have begun, by number. */
export function useStudyPoints({ id, points: counts }: StudyDetails): UseQueryResult<readonly StudyPoint[]> {
  const queryKey = [...STUDIES_KEY, 'points', id];
  return useQuery<readonly StudyPoint[]>({
    queryKey,
    // Thousands of points would be compared with each other.
    structuralSharing: false,
    refetchInterval: ({ state: { data } }) => (data && areCounted(data, counts) ? false : EVERY_MS),
    queryFn: async ({ signal }) => {
      const fetchPoints: FetchPoints = async (query) =>
        (await api.listStudyPoints({ client: hub.client, path: { id }, query, signal, throwOnError: true }))
          .data;
      const known = queryClient.getQueryData<readonly StudyPoint[]>(queryKey) ?? [];
      const points = await loadPoints(known, fetchPoints, (some) => queryClient.setQueryData(queryKey, some));
      const study = queryClient.getQueryData<StudyDetails>(studyKey(id));
      const isUnseen = study?.points.open === 0 && !areCounted(points, study.points);
      return isUnseen && known.length > 0 ? loadPoints([], fetchPoints) : points;
    },
  });
}

/** Asks for all studies that are shown again, after a change. */
export function refreshStudies(): Promise<void> {
  return askAgain({ queryKey: STUDIES_KEY });
}
