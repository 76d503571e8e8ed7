import { api, HubError, type LogEvent } from '@workbench-hub/client';
import { useEffect, useMemo } from 'react';
import { Store, useStore } from '../../base/store.js';
import { hub } from '../../data/hub.js';
import { LogText } from './log-text.js';

/** Time within which what arrives is shown together. */
const SHOW_EVERY_MS = 100;
const RETRY_MS = 1000;
const RETRY_REFUSED_MS = 5000;

export interface LogWords {
  skipped(bytes: number): string;
  newAttempt(attempt: number): string;
}

export interface LogState {
  readonly text: LogText;
  /** Rises with each text that was added. */
  readonly version: number;
  readonly isComplete: boolean;
  /** Refusal of the hub; it is asked again. */
  readonly error?: Error | undefined;
}

/** Output of a task's scripts: from the log file when it has ended, live before. A live log with gaps is read
 *  again from the file at the end. */
export function useLog(id: string, hasEnded: boolean, words: LogWords): LogState {
  const store = useMemo(
    () => new Store<LogState>({ text: new LogText(), version: 0, isComplete: false }),
    [],
  );
  useEffect(() => {
    const reading = new AbortController();
    void read(id, hasEnded, words, store, reading.signal);
    return () => reading.abort();
  }, [id, store]);
  return useStore(store);
}

async function read(
  id: string,
  hasEnded: boolean,
  words: LogWords,
  store: Store<LogState>,
  signal: AbortSignal,
) {
  for (;;) {
    let text = new LogText();
    const show = (isComplete: boolean) =>
      signal.aborted || store.set({ text, version: store.get().version + 1, isComplete });
    const timer = setInterval(() => text.takeChange() && show(false), SHOW_EVERY_MS);
    try {
      text = await complete(id, hasEnded, text, words, signal);
      show(true);
      return;
    } catch (error) {
      if (signal.aborted) return;
      await waitAfter(error, store);
    } finally {
      clearInterval(timer);
    }
  }
}

/** Shows a refusal of the hub; resolves when the hub may be asked again. */
async function waitAfter(error: unknown, store: Store<LogState>): Promise<void> {
  // That the hub is away is said above all screens.
  const refusal = error instanceof HubError ? error : undefined;
  if (refusal !== undefined) store.set({ ...store.get(), error: refusal });
  const delayMs = refusal === undefined ? RETRY_MS : RETRY_REFUSED_MS;
  await new Promise((resolve) => setTimeout(resolve, delayMs));
}

/** The log in full. What arrives is appended to `text`, which is the result unless some of it was skipped. */
async function complete(
  id: string,
  hasEnded: boolean,
  text: LogText,
  words: LogWords,
  signal: AbortSignal,
): Promise<LogText> {
  if (!hasEnded) return (await follow(id, text, words, signal)) ? text : wholeLog(id, text, signal);
  await readFile(id, text, signal);
  return text;
}

/** The log file in the place of a live log with gaps; the live log if there is no file. */
async function wholeLog(id: string, live: LogText, signal: AbortSignal): Promise<LogText> {
  const whole = new LogText();
  await readFile(id, whole, signal);
  return whole.lines === 0 ? live : whole;
}

async function readFile(id: string, text: LogText, signal: AbortSignal): Promise<void> {
  const { data } = await api.getTaskLog({
    client: hub.client,
    path: { id },
    parseAs: 'stream',
    signal,
    throwOnError: true,
  });
  const reader = (data as unknown as ReadableStream<Uint8Array> | null)?.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) return;
    text.append(decoder.decode(chunk.value, { stream: true }));
  }
}

/** Appends the live log until the task ends. Tells whether nothing of it was skipped. */
async function follow(id: string, text: LogText, words: LogWords, signal: AbortSignal): Promise<boolean> {
  let attempt: number | undefined;
  let isWhole = true;
  for await (const event of hub.task(id).log(signal)) {
    const line = remarkOn(event, attempt, words);
    if (line !== undefined) text.append(`${text.isAtLineStart ? '' : '\n'}\u001b[2m${line}\u001b[0m\n`);
    if (event.type === 'attempt') attempt = event.attempt;
    if (event.type === 'output') text.append(event.text);
    if (event.type === 'skipped') isWhole = false;
  }
  return isWhole;
}

/** A line of our own in the log; undefined for most events. */
function remarkOn(event: LogEvent, before: number | undefined, words: LogWords): string | undefined {
  if (event.type === 'skipped') return words.skipped(event.to - event.offset);
  if (event.type === 'attempt' && before !== undefined && before !== event.attempt)
    return words.newAttempt(event.attempt);
  return undefined;
}
