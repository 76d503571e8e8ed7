/** Numbers in the outputs of the job that ran, from which the values of a study are chosen. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { TaskDetails } from '@workbench-hub/client';
import { hub } from '../../../data/hub.js';
import { endingOf } from '../../task/preview/kind.js';
import { offersIn, type ValueOffer } from './value-rules.js';

const ENDINGS = ['json', 'csv', 'tsv'];
const MAX_FILES = 20;
const MAX_BYTES = 1024 * 1024;

/** Numbers in the small outputs of a task, by file. */
export function useValueOffers(task: TaskDetails | undefined): UseQueryResult<readonly ValueOffer[]> {
  return useQuery({
    queryKey: ['new-study', 'offers', task?.id],
    enabled: task?.outputs !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const offers: ValueOffer[] = [];
      const files = (task?.outputs ?? []).filter(
        ({ path, size }) => ENDINGS.includes(endingOf(path)) && size <= MAX_BYTES,
      );
      for (const { path } of files.slice(0, MAX_FILES)) {
        const response = await hub.task(task?.id ?? '').output(path, { signal });
        offers.push(...offersIn(path, await response.text()));
      }
      return offers;
    },
  });
}
