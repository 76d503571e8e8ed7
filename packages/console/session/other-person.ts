/** The end of what a person has begun in this tab. */
import type { Store } from '../base/store.js';
import type { SessionState } from './session.js';

/**
 * Calls back when a person has logged out, and when another one has logged in, until the returned function is called. A session that
 * has ended by itself is still that person's, who goes on with the next login.
 */
export function onOtherPerson(state: Store<SessionState>, act: () => void): () => void {
  let username = usernameIn(state.get());
  return state.subscribe(() => {
    const next = usernameIn(state.get());
    const isOther = username !== undefined && next !== username;
    username = next;
    if (isOther) act();
  });
}

function usernameIn(state: SessionState): string | undefined {
  return state.status === 'starting' ? undefined : state.person?.username;
}
