/** Output of the scripts of a task, as it comes (contract 12.11). */
import type { Connection } from './connection.js';
import { isCode } from './errors.js';
import { eventStream } from './event-stream.js';
import type { TaskDetails, TaskItem } from './generated/types.gen.js';
import { Delays, overOutages } from './outages.js';

/** `skipped`: the hub no longer has the output between these offsets; the log has all of it after the end. */
export type LogEvent =
  | { readonly type: 'attempt'; readonly attempt: number }
  | { readonly type: 'output'; readonly attempt: number; readonly offset: number; readonly text: string }
  | { readonly type: 'skipped'; readonly attempt: number; readonly offset: number; readonly to: number }
  | { readonly type: 'end'; readonly status: TaskItem['status'] };

/** An attempt, and the offset in UTF-16 units since it began. */
interface LogPlace {
  readonly attempt: number;
  readonly offset: number;
}

/** The part of a log that begins at this offset. */
interface LogPart {
  readonly offset: number;
  readonly text: string;
}

const LIMIT = 'TOO_MANY_STREAMS';

/** Longest delay between two readings of a log that is not followed; it doubles up to this. */
const LONGEST_READ_MS = 4000;

const ENDED: ReadonlySet<TaskItem['status']> = new Set(['FINISHED', 'FAILED', 'CANCELED']);

/** Yields the output of a task from its beginning; waits for its start, and ends after its end. When its user follows as many logs as
 *  there may be, the log is read at intervals. */
export async function* taskLog(
  connection: Connection,
  id: string,
  signal?: AbortSignal,
): AsyncGenerator<LogEvent, void> {
  const path = `/api/x/tasks/${encodeURIComponent(id)}/log`;
  const options = { query: { follow: true }, signal, finalCode: LIMIT };
  let place: LogPlace = { attempt: 0, offset: 0 };
  try {
    for await (const { event, data } of eventStream(connection, path, options)) {
      const content = { type: event, ...JSON.parse(data) } as LogEvent;
      place = placeAfter(content, place);
      yield content;
      if (content.type === 'end') return;
    }
  } catch (error) {
    if (!isCode(error, LIMIT)) throw error;
  }
  yield* readings(connection, id, place, signal);
}

/** Yields the output after a place by readings at intervals, to the end of the task. */
async function* readings(
  connection: Connection,
  id: string,
  from: LogPlace,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogEvent, void> {
  const path = `/api/x/tasks/${encodeURIComponent(id)}`;
  const look = () => overOutages(connection, () => connection.json<TaskDetails>(path, { signal }), signal);
  const delays = new Delays(LONGEST_READ_MS);
  let place = from;
  let task = await look();
  for (;;) {
    const { attempt, status } = task;
    const hasEnded = ENDED.has(status);
    const start = attempt === place.attempt ? place.offset : 0;
    const read = () => partOf(connection, id, hasEnded ? 0 : start, signal);
    const part = status === 'WAITING' ? undefined : await overOutages(connection, read, signal);
    task = await look();
    const isOfAttempt = task.attempt === attempt && ENDED.has(task.status) === hasEnded;
    if (part !== undefined && isOfAttempt) {
      for (const event of eventsOf(part, attempt, place)) {
        place = placeAfter(event, place);
        yield event;
      }
      if (hasEnded) return yield { type: 'end', status: task.status };
    }
    await delays.pause(signal);
  }
}

/** The log from an offset on. That of an ended task is shorter than its output when it is cut, and is read from its beginning. */
async function partOf(
  connection: Connection,
  id: string,
  offset: number,
  signal: AbortSignal | undefined,
): Promise<LogPart> {
  const path = `/api/2.0/workbench/task/${encodeURIComponent(id)}/log`;
  const response = await connection.request(path, { query: { offset }, signal });
  const text = await connection.textOf(response);
  return { offset: Number(response.headers.get('log-offset') ?? 0), text };
}

/** Events for what a part has after a place. */
function* eventsOf(part: LogPart, attempt: number, place: LogPlace): Generator<LogEvent> {
  let { offset } = place;
  if (attempt !== place.attempt) {
    if (part.text === '') return;
    offset = 0;
    yield { type: 'attempt', attempt };
  }
  if (part.offset > offset) {
    yield { type: 'skipped', attempt, offset, to: part.offset };
    offset = part.offset;
  }
  const text = part.text.slice(offset - part.offset);
  if (text !== '') yield { type: 'output', attempt, offset, text };
}

/** The place after an event. */
function placeAfter(event: LogEvent, before: LogPlace): LogPlace {
  switch (event.type) {
    case 'attempt':
      return { attempt: event.attempt, offset: 0 };
    case 'output':
      return { attempt: event.attempt, offset: event.offset + event.text.length };
    case 'skipped':
      return { attempt: event.attempt, offset: event.to };
    case 'end':
      return before;
  }
}
