/** Whether the hub responds. */
import { heardDate } from '../base/clock.js';
import { Store } from '../base/store.js';

const FIRST_POLL_MS = 500;
const MAX_POLL_MS = 5000;

/** `sinceMs`: by the clock of the browser. */
export type Reachability = { readonly isAway: false } | { readonly isAway: true; readonly sinceMs: number };

const HERE: Reachability = { isAway: false };

export const reachability = new Store<Reachability>(HERE);

/** `fetch` that notices when the hub is away, and asks until it is back. */
export async function watchedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  try {
    const response = await fetch(...request);
    if (isOfProxy(response)) lost();
    else heard(response);
    return response;
  } catch (error) {
    if (!isAborted(error, request)) lost();
    throw error;
  }
}

/** Statuses with which a proxy says that the hub behind it does not respond. */
const NO_HUB: ReadonlySet<number> = new Set([502, 503, 504]);

/** Whether a proxy has responded in place of the hub, whose errors have a code. */
function isOfProxy({ status, headers }: Response): boolean {
  return NO_HUB.has(status) && !headers.has('x-error-code');
}

function heard({ headers }: Response): void {
  heardDate(headers.get('date'));
  reachability.set(HERE);
}

function lost(): void {
  if (reachability.get().isAway) return;
  reachability.set({ isAway: true, sinceMs: Date.now() });
  void poll();
}

async function poll(): Promise<void> {
  for (let delayMs = FIRST_POLL_MS; reachability.get().isAway; delayMs = Math.min(2 * delayMs, MAX_POLL_MS)) {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    const response = await fetch('/livez', { cache: 'no-store' }).catch(() => undefined);
    if (response?.ok) heard(response);
  }
}

function isAborted(error: unknown, [input, init]: Parameters<typeof fetch>): boolean {
  if (error instanceof DOMException && error.name === 'AbortError') return true;
  return init?.signal?.aborted === true || (input instanceof Request && input.signal.aborted);
}
