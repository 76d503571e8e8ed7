/** Changes of tasks as they happen (contract 12.10). */
import type { Connection } from './connection.js';
import type { ErrorCode } from './errors.js';
import { eventStream } from './event-stream.js';
import type { StreamEventsData, TaskItem } from './generated/types.gen.js';

/** Conditions that a task must meet, as in lists of tasks. */
export type TaskFilter = Omit<NonNullable<StreamEventsData['query']>, 'since' | 'timeout'>;

/** `reset`: changes before `cursor` are unknown, so list the tasks again. */
export type HubEvent =
  | { readonly type: 'hello' | 'reset'; readonly cursor: string }
  | { readonly type: 'task'; readonly cursor: string; readonly task: TaskItem }
  | { readonly type: 'removed'; readonly cursor: string; readonly id: string; readonly deleted: boolean };

export interface EventOptions {
  readonly filter?: TaskFilter;
  /** Cursor to continue at; the present by default. */
  readonly since?: string;
  /** Called with each cursor that the stream reaches while no change matches: changes that follow are later. */
  readonly onCursor?: ((cursor: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Code of a refusal that ends an open stream, too; `TOO_MANY_STREAMS` is waited for otherwise. */
  readonly finalCode?: ErrorCode;
}

/** Yields every change at least once, in order, and continues after restarts of the hub. */
export async function* taskEvents(
  connection: Connection,
  { filter = {}, since, onCursor, signal, finalCode }: EventOptions = {},
): AsyncGenerator<HubEvent, never> {
  const query = { ...(filter as Record<string, string>), ...(since === undefined ? {} : { since }) };
  for await (const { event: type, id: cursor = '', data } of eventStream(connection, '/api/x/events', {
    query,
    onId: onCursor,
    signal,
    finalCode,
  })) {
    const content = JSON.parse(data) as Record<string, unknown>;
    if (type === 'task') yield { type, cursor, task: content as unknown as TaskItem };
    else if (type === 'removed')
      yield { type, cursor, id: String(content['id']), deleted: content['deleted'] === true };
    else if (type === 'hello' || type === 'reset')
      yield { type, cursor: String(content['cursor'] ?? cursor) };
  }
  throw new Error('a stream of events ends with an error only');
}
