/** The cache of what the hub has said. */

import { QueryClient } from '@tanstack/react-query';
import { OverloadedError, UnreachableError } from '@workbench-hub/client';
import { reachability } from '../session/reachability.js';
import { session } from './hub.js';

const RETRY_MS = 1000;
const STALE_MS = 5000;
/** Tries at a hub that is busy, before the page says so. */
const BUSY_TRIES = 10;

export const queryClient = new QueryClient({
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

// Back after an absence or a login: ask again for what is shown, which stays until the response comes.
let wasAway = false;
reachability.subscribe(() => {
  const { isAway } = reachability.get();
  if (wasAway && !isAway) void queryClient.invalidateQueries();
  wasAway = isAway;
});

let username: string | undefined;
session.state.subscribe(() => {
  const state = session.state.get();
  if (state.status !== 'open') return;
  // Nothing of another user remains.
  if (username !== undefined && username !== state.person.username) queryClient.clear();
  else void queryClient.invalidateQueries();
  username = state.person.username;
});
