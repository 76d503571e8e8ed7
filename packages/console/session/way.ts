/** The way in which the session of this browser was opened: cookies that say so are none of the page's. */

const KEY = 'workbench-log-in';

export type Way = 'password' | 'sign-on';

export function readWay(): Way {
  try {
    return localStorage.getItem(KEY) === 'sign-on' ? 'sign-on' : 'password';
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
