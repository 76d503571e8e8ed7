/** The rollout of the hub's version to agents, and what administrators ask of it. */
import { type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { hub } from '../../data/hub.js';
import { askAgain } from '../../data/query-client.js';

/** The hub looks at its agents every 20 s. */
const EVERY_MS = 5000;
const ROLLOUT_KEY = ['rollout'];

export function useRollout(): UseQueryResult<api.Rollout> {
  return useQuery({
    queryKey: ROLLOUT_KEY,
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await api.getRollout({ client: hub.client, signal, throwOnError: true })).data,
  });
}

export function useRolloutChange() {
  return useMutation({
    mutationFn: async (change: 'stop' | 'resume') => {
      const call = change === 'stop' ? api.stopRollout<true> : api.resumeRollout<true>;
      await call({ client: hub.client, throwOnError: true });
      await askAgain({ queryKey: ROLLOUT_KEY });
    },
  });
}
