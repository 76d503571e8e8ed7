import { useQuery } from '@tanstack/react-query';
import { api, type TaskDetails } from '@workbench-hub/client';
import { hub, usePerson, useRole } from '../../data/hub.js';
import { taskKey } from '../../data/live-cache.js';

const ACTION = 'DELETE /api/2.0/workbench/task/{id}/cancel';
/** The entry is written when the request ends, after the task has. */
const AROUND_MS = 10_000;

/** The user who canceled a task, from the audit log, which administrators may read; undefined while that is not known. */
export function useCanceler({ id, status, endedAt }: TaskDetails): string | undefined {
  const isAdmin = useRole('ADMIN');
  const hasAudit = usePerson()?.isLoggedIn === true;
  const { data } = useQuery({
    queryKey: taskKey(id, 'canceler'),
    enabled: isAdmin && hasAudit && status === 'CANCELED' && endedAt !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const atMs = Date.parse(endedAt ?? '');
      const query = {
        action: ACTION,
        outcome: 'ALLOWED' as const,
        from: new Date(atMs - AROUND_MS).toISOString(),
        to: new Date(atMs + AROUND_MS).toISOString(),
        limit: 1000,
      };
      const { data: page } = await api.listAuditEntries({
        client: hub.client,
        query,
        signal,
        throwOnError: true,
      });
      return page.entries.find(({ resource }) => resource.includes(id))?.user ?? null;
    },
  });
  return data ?? undefined;
}
