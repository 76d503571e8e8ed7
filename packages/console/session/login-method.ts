/** Login method of the session of this browser. The page cannot read the cookies that would tell. */

const KEY = 'workbench-log-in';

export type LoginMethod = 'password' | 'sign-on';

/** Undefined when this browser has no session to continue. */
export function readLoginMethod(): LoginMethod | undefined {
  try {
    const method = localStorage.getItem(KEY);
    return method === 'sign-on' || method === 'password' ? method : undefined;
  } catch {
    return 'password';
  }
}

export function writeLoginMethod(method: LoginMethod): void {
  try {
    localStorage.setItem(KEY, method);
  } catch {
    // A browser that keeps nothing: a reload asks for the login again.
  }
}

/** Notes that the session has ended. */
export function forgetLoginMethod(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // Nothing is kept.
  }
}
