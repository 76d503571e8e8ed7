/** A table that is read from a file while it is shown. */
import { useEffect, useMemo, useState } from 'react';
import { Store, useStore } from '../../../base/store.js';
import type { PreviewedFile } from './previewed-file.js';
import { ValueTable } from './value-table.js';

/** Time without a pause, so that the page stays alive. */
const TURN_MS = 12;
/** Characters that are taken at once. */
const PART = 64 * 1024;
const SHOW_EVERY_MS = 200;

interface Values {
  readonly table: ValueTable;
  /** Rises with each part that was read. */
  readonly version: number;
  readonly isComplete: boolean;
  readonly error?: Error;
}

export interface ReadValues extends Values {
  /** Reads the file once more. */
  again(): void;
}

export function useValues(file: PreviewedFile): ReadValues {
  const [tries, setTries] = useState(0);
  const store = useMemo(
    () => new Store<Values>({ table: new ValueTable(), version: 0, isComplete: false }),
    [file.key, tries],
  );
  useEffect(() => {
    const reading = new AbortController();
    const { signal } = reading;
    const table = new ValueTable();
    const show = (more: Partial<Values> = {}) => {
      if (!signal.aborted) store.set({ ...store.get(), table, version: store.get().version + 1, ...more });
    };
    const timer = setInterval(() => show(), SHOW_EVERY_MS);
    read(file, table, signal)
      .then(() => show({ isComplete: true }))
      .catch((error: Error) => show({ error }))
      .finally(() => clearInterval(timer));
    return () => {
      reading.abort();
      clearInterval(timer);
    };
  }, [store]);
  return { ...useStore(store), again: () => setTries(tries + 1) };
}

async function read(file: PreviewedFile, table: ValueTable, signal: AbortSignal): Promise<void> {
  const response = await file.fetch(signal);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let turnMs = performance.now();
  for (;;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) break;
    for (let at = 0; at < chunk.value.length; at += PART) {
      if (!table.push(chunk.value.slice(at, at + PART))) {
        await reader?.cancel();
        return;
      }
      if (performance.now() - turnMs > TURN_MS) {
        await new Promise((resolve) => setTimeout(resolve));
        signal.throwIfAborted();
        turnMs = performance.now();
      }
    }
  }
  table.end();
}
