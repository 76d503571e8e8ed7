/** The zone of the hub, for its times without an offset. */
import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { nowMs } from '../base/clock.js';
import { hub } from './hub.js';

const HOUR_MS = 3_600_000;
const OFFSET = /(?:Z|[+-]\d{2}:\d{2})$/;

/** Adds the present offset of the hub to its local times; undefined until the hub has told it. */
export function useHubTime(): (local: string | undefined) => string | undefined {
  const { data: offset } = useQuery({
    queryKey: ['hub-offset'],
    staleTime: HOUR_MS,
    queryFn: async ({ signal }) => {
      const to = new Date(nowMs()).toISOString();
      const from = new Date(nowMs() - HOUR_MS).toISOString();
      const { data } = await api.getStatistics({
        client: hub.client,
        query: { step: 'HOUR', from, to },
        signal,
        throwOnError: true,
      });
      return OFFSET.exec(data.periods[0]?.start ?? '')?.[0] ?? 'Z';
    },
  });
  return (local) => (local === undefined || offset === undefined ? undefined : withOffset(local, offset));
}

/** The time with the offset, unless it has one. */
function withOffset(local: string, offset: string): string {
  return OFFSET.test(local) ? local : local + offset;
}
