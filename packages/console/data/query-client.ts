/** The cache of what the hub has said. */

import { QueryCache, QueryClient, type QueryFilters } from '@tanstack/react-query';
import { OverloadedError, UnreachableError } from '@workbench-hub/client';
import { reachability } from '../session/reachability.js';
import { session } from './hub.js';

const RETRY_MS = 1000;
const STALE_MS = 5000;
/** Tries at a hub that is busy, before the page says so. */
const BUSY_TRIES = 10;

/** Hashes of queries whose first response was on its way at a change. */
const changedMeanwhile = new Set<string>();

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onSuccess: (_, { queryHash, queryKey }) => {
      if (changedMeanwhile.delete(queryHash)) void askAgain({ queryKey, exact: true });
    },
  }),
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: STALE_MS,
      // A refusal stays one; a hub that is away is asked until it responds, as the page says meanwhile.
      retry: (tries, error) =>
        error instanceof UnreachableError || (error instanceof OverloadedError && tries < BUSY_TRIES),
      retryDelay: RETRY_MS,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

/**
 * Asks again for what is shown, since it may have changed; resolves with the responses. A request under way is given up, since its
 * response may be older than the change; a first one is waited for, so that changes in a row cannot keep it away, and then repeated.
 */
export async function askAgain(filters: QueryFilters = {}): Promise<void> {
  for (const { state, queryHash } of queryClient.getQueryCache().findAll(filters))
    if (state.data === undefined && state.fetchStatus === 'fetching') changedMeanwhile.add(queryHash);
  await queryClient.invalidateQueries(filters);
}

// Back after an absence or a login: ask again for what is shown, which stays until the response comes.
let wasAway = false;
reachability.subscribe(() => {
  const { isAway } = reachability.get();
  if (wasAway && !isAway) void askAgain();
  wasAway = isAway;
});

let username: string | undefined;
session.state.subscribe(() => {
  const state = session.state.get();
  if (state.status !== 'open') return;
  // Nothing of another user remains.
  if (username !== undefined && username !== state.person.username) queryClient.clear();
  else void askAgain();
  username = state.person.username;
});
