/** Settles like the promise, or rejects with the signal's reason when it is aborted first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Gives the step a signal that is aborted with the first of these. Unlike `AbortSignal.any` of Node.js 20, this leaves nothing behind at
 *  signals that outlive the step. */
export async function withAnyOf<T>(
  signals: readonly AbortSignal[],
  step: (any: AbortSignal) => Promise<T>,
): Promise<T> {
  const any = new AbortController();
  const listeners = signals.map((signal) => ({ signal, onAbort: () => any.abort(signal.reason) }));
  for (const { signal, onAbort } of listeners) {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  }
  try {
    return await step(any.signal);
  } finally {
    for (const { signal, onAbort } of listeners) signal.removeEventListener('abort', onAbort);
  }
}
