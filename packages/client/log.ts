/** Output of the scripts of a task, as it comes (contract 12.11). */
import type { Connection } from './connection.js';
import { eventStream } from './event-stream.js';
import type { TaskItem } from './generated/types.gen.js';

/** `skipped`: the hub no longer has the output between these offsets; the log has all of it after the end. */
export type LogEvent =
  | { readonly type: 'attempt'; readonly attempt: number }
  | { readonly type: 'output'; readonly attempt: number; readonly offset: number; readonly text: string }
  | { readonly type: 'skipped'; readonly attempt: number; readonly offset: number; readonly to: number }
  | { readonly type: 'end'; readonly status: TaskItem['status'] };

/** Yields the output of a task from its beginning; waits for its start, and ends after its end. */
export async function* taskLog(
  connection: Connection,
  id: string,
  signal?: AbortSignal,
): AsyncGenerator<LogEvent, void> {
  const path = `/api/x/tasks/${encodeURIComponent(id)}/log`;
  for await (const { event, data } of eventStream(connection, path, { query: { follow: true }, signal })) {
    const content = { type: event, ...JSON.parse(data) } as LogEvent;
    yield content;
    if (content.type === 'end') return;
  }
}
