/** The hub that serves this page, and the session of its user. */
import { Hub } from '@workbench-hub/client';
import { useStore } from '../base/store.js';
import { watchedFetch } from '../session/reachability.js';
import { holdsRole, type Person, type Role, Session } from '../session/session.js';

export const session = new Session((path, init) => watchedFetch(path, init));

/** Without retries of its own: the cache tries again, and the page says meanwhile that the hub is away. */
export const hub = new Hub({
  url: location.origin,
  credentials: session,
  fetch: watchedFetch,
  retryDelaysMs: [],
});

/** The same for what takes long: it goes on over breaks of the connection of up to two minutes. */
export const patientHub = new Hub({ url: location.origin, credentials: session, fetch: watchedFetch });

/** The user; undefined before the first login. */
export function usePerson(): Person | undefined {
  const state = useStore(session.state);
  return state.status === 'starting' ? undefined : state.person;
}

/** Whether the user has the role, so that a screen hides what would be refused. */
export function useRole(role: Role): boolean {
  return holdsRole(usePerson(), role);
}
