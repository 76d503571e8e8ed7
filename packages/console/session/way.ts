/** The way in which the session of this browser was opened: cookies that say so are none of the page's. */

const KEY = 'workbench-log-in';

export type Way = 'password' | 'sign-on';

/** Undefined when no session can be left in this browser. */
export function readWay(): Way | undefined {
  try {
    const way = localStorage.getItem(KEY);
    return way === 'sign-on' || way === 'password' ? way : undefined;
  } catch {
    return 'password';
  }
}

export function writeWay(way: Way): void {
  try {
    localStorage.setItem(KEY, way);
  } catch {
    // A browser that keeps nothing: a reload asks for the login again.
  }
}

/** Notes that the session has ended. */
export function forgetWay(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Nothing is kept.
  }
}
