/** The time of the hub, since the clock of the browser may be wrong. */
import { Store, useStore } from './store.js';

const TICK_MS = 1000;
/** A smaller difference may be the way of the response, and the whole seconds of its header. */
const IGNORED_MS = 5000;

let offsetMs = 0;
const tick = new Store(Date.now());
setInterval(() => tick.set(nowMs()), TICK_MS);

/** Sets the offset by the header `Date` of a response that has just come. */
export function heardDate(header: string | null): void {
  const hubMs = Date.parse(header ?? '');
  if (Number.isNaN(hubMs)) return;
  const difference = hubMs + 500 - Date.now();
  offsetMs = Math.abs(difference) < IGNORED_MS ? 0 : difference;
}

export function nowMs(): number {
  return Date.now() + offsetMs;
}

/** Now, and again each second. */
export function useNow(): number {
  return useStore(tick);
}
