/** Log-in by the company's sign-on: the page goes to the provider, which sends the browser back to a path of its own. */
import { PATHS } from '../paths.js';
import type { Session } from './session.js';

const PLACE_KEY = 'workbench-sign-on-place';
/** Place of a window that is there for the log-in only. */
const WINDOW = 'window';
const WINDOW_FEATURES = 'popup,width=520,height=720';

/** Goes to the provider; afterwards the page is here again. Rejects as the session does. */
export async function goToSignOn(session: Session): Promise<void> {
  const address = await session.beginSignOn();
  sessionStorage.setItem(PLACE_KEY, location.pathname + location.search);
  location.assign(address);
}

/** The same in a window of its own, so that the page stays as it is. */
export function openSignOn(): void {
  window.open(PATHS.signOn, '_blank', WINDOW_FEATURES);
}

/** Begins or ends a log-in if the page was opened for it; false for any other page. */
export async function continueSignOn(session: Session): Promise<boolean> {
  if (location.pathname !== PATHS.signOn) return false;
  const query = location.search.slice(1);
  try {
    if (query === '') {
      const address = await session.beginSignOn();
      sessionStorage.setItem(PLACE_KEY, WINDOW);
      location.replace(address);
      return true;
    }
    const place = sessionStorage.getItem(PLACE_KEY) ?? '/';
    sessionStorage.removeItem(PLACE_KEY);
    // The response of the provider is for one use, and for no history.
    history.replaceState(null, '', place === WINDOW ? '/' : place);
    await session.finishSignOn(query);
    if (place === WINDOW) window.close();
  } catch (error) {
    history.replaceState(null, '', location.pathname === PATHS.signOn ? '/' : location.href);
    session.failSignOn(
      new URLSearchParams(query).get('error') === 'access_denied' ? new SignOnDenied() : error,
    );
  }
  return true;
}

/** The user, or the provider, has refused the log-in. */
export class SignOnDenied extends Error {
  override readonly name = 'SignOnDenied';
}
