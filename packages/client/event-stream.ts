/** Reader of the hub's server-sent events that survives restarts of hub and network. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { type Connection, type RequestOptions, silent } from './connection.js';
import { isCode, OverloadedError, UnreachableError } from './errors.js';
import { Delays, isOutage } from './outages.js';

/** A stream without a comment for this long is dead; the hub sends one every 15 seconds. */
const SILENCE_MS = 45_000;

/** Longest delay that is kept when a hub asks for one. */
const LONGEST_RETRY_AFTER_S = 30;

const TOO_MANY_STREAMS = 'TOO_MANY_STREAMS';

export interface EventStreamOptions extends RequestOptions {
  /** Called with each id that comes without an event: the hub tells how far the stream is. */
  readonly onId?: ((id: string) => void) | undefined;
}

/**
 * Yields the events of a stream, and connects again wherever it ends, after the last event that was yielded. It ends
 * when the consumer leaves the loop, rejects when the signal is aborted, with a {@link HubError} when the hub refuses
 * the stream, and with {@link UnreachableError} when the first connection fails: the address may be wrong. Once a stream has opened,
 * a hub or proxy that is overloaded, or has too many streams of this user, counts as a loss, unless it refuses with the final code.
 * Each later silence or refusal is told as a retry.
 */
export async function* eventStream(
  connection: Connection,
  path: string,
  { signal, onId, ...options }: EventStreamOptions = {},
): AsyncGenerator<EventSourceMessage, never> {
  const place = new Place(onId);
  const delays = new Delays();
  let hasOpened = false;
  const onOpen = () => {
    hasOpened = true;
  };
  for (;;) {
    let leastMs = 0;
    const request = { ...options, headers: headersAfter(place.id) };
    try {
      for await (const event of oneStream(connection, path, request, { outer: signal, onOpen })) {
        place.reach(event);
        if (event.data === '') continue;
        delays.reset();
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!hasOpened || !isConnectionLoss(error, options.finalCode)) throw error;
      tellLoss(connection, error);
      leastMs = askedDelayMs(error);
    }
    await delays.pause(signal, leastMs);
  }
}

/** Place after which a stream goes on. */
class Place {
  readonly #onId: EventStreamOptions['onId'];
  id: string | undefined;

  constructor(onId: EventStreamOptions['onId']) {
    this.#onId = onId;
  }

  reach({ id, data }: EventSourceMessage): void {
    if (id === undefined || id === this.id) return;
    this.id = id;
    if (data === '') this.#onId?.(id);
  }
}

/** Headers of a request for the events after the one with this id. */
function headersAfter(lastId: string | undefined): Record<string, string> {
  return {
    accept: 'text/event-stream',
    ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
  };
}

/** Tells of a silence or refusal: a connection that broke is told of by the requests that follow. */
function tellLoss(connection: Connection, error: unknown): void {
  if (error instanceof UnreachableError || error instanceof OverloadedError) connection.tellRetry(error);
}

/** Delay that the hub asks for with its refusal. */
function askedDelayMs(error: unknown): number {
  const retryAfterS = error instanceof OverloadedError ? (error.retryAfterS ?? 0) : 0;
  return 1000 * Math.min(retryAfterS, LONGEST_RETRY_AFTER_S);
}

/** Latest id of a stream, also of blocks without data: by them, the hub tells how far it has come, and the parser leaves them out. */
class LatestId {
  #rest = '';
  #inBlock: string | undefined;
  value: string | undefined;

  feed(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, id] = /^id: ?(.*?)\r?$/.exec(line) ?? [];
      if (id !== undefined) this.#inBlock = id;
      if (line.trim() === '') this.value = this.#inBlock ?? this.value;
    }
  }
}

/** Events of one response, until it ends or falls silent; those without data have the latest id alone. */
async function* oneStream(
  connection: Connection,
  path: string,
  options: RequestOptions,
  { outer, onOpen }: { readonly outer: AbortSignal | undefined; readonly onOpen: () => void },
): AsyncGenerator<EventSourceMessage> {
  const silence = new AbortController();
  const signal = outer ? AbortSignal.any([outer, silence.signal]) : silence.signal;
  const restart = () => setTimeout(() => silence.abort(silent(connection.url, SILENCE_MS)), SILENCE_MS);
  const received: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => received.push(event) });
  const latest = new LatestId();
  const decoder = new TextDecoder();
  let timer = restart();
  try {
    const { body } = await connection.request(path, { ...options, signal });
    if (body === null) return;
    onOpen();
    const reader = body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = restart();
        const text = decoder.decode(value, { stream: true });
        parser.feed(text);
        latest.feed(text);
        yield* received.splice(0);
        if (latest.value !== undefined) yield { id: latest.value, event: undefined, data: '' };
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the connection broke, or the hub is away, rather than it refused or a caller's code failed. */
function isConnectionLoss(error: unknown, finalCode: string | undefined): boolean {
  if (isCode(error, TOO_MANY_STREAMS)) return finalCode !== TOO_MANY_STREAMS;
  // A body that breaks off rejects with a TypeError ("terminated").
  return isOutage(error) || error instanceof TypeError;
}
