import { useEffect, useMemo, useState } from 'react';
import { Store, useStore } from '../../base/store.js';
import { followLog, type LogPlace, logPartOf } from '../../data/followed-log.js';
import { LogText } from './log-text.js';
import type { LogState } from './use-log.js';

const EVERY_MS = 1000;

interface FollowedLog {
  readonly log: LogState;
  /** Why it cannot be read at present. */
  readonly error: Error | undefined;
}

/** A log that is asked for its new part each second. The key says which log it is. */
export function useFollowedLog(
  key: string,
  request: (place: LogPlace, signal: AbortSignal) => Promise<Response>,
): FollowedLog {
  const store = useMemo(
    () => new Store<LogState>({ text: new LogText(), version: 0, isComplete: false }),
    [key],
  );
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const reading = new AbortController();
    const { signal } = reading;
    void followLog(
      {
        read: async (place) => logPartOf(await request(place, signal)),
        onText: (added, isAnew) => {
          const { text: before, version } = store.get();
          const text = isAnew ? new LogText() : before;
          text.append(added);
          store.set({ text, version: version + 1, isComplete: false });
        },
        onError: setError,
        pause: () => new Promise((resolve) => setTimeout(resolve, EVERY_MS)),
      },
      signal,
    );
    return () => reading.abort();
  }, [store]);
  return { log: useStore(store), error };
}
