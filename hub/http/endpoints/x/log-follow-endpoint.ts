/** The output of a task as a stream of events (contract 12.11). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { z } from 'zod';
import type { LogEvent, LogFollower, LogPlace } from '../../../engine/following/log-follower.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { queryBoolean, queryInteger, queryString } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import {
  EVENT_STREAM,
  type EventConnection,
  EventStreamResponse,
  eventText,
} from '../../routing/responses/event-stream.js';
import { StreamAuthorizations } from '../../routing/responses/stream-authorizations.js';
import { StreamShares } from '../../routing/responses/stream-shares.js';
import { shownDefault } from '../../wire/openapi-overrides.js';
import { SharedBytes } from '../../wire/shared-bytes.js';

/** Unread bytes with which a client gets no more until it has read them. */
const MAX_UNREAD_BYTES = 256 * 1024;

const COMMENT_EVERY_MS = 15_000;
const COMMENT = new SharedBytes(': alive\n\n');
/** Sent at once, since the task may print nothing for long; a browser connects again after this delay. */
const BEGINNING = new SharedBytes('retry: 2000\n\n');
const DEFAULT_TIMEOUT_S = 3600;
const LIMITS = { streams: 64, filters: 1, inWords: 'follows 64 logs' };

export interface LogFollowEndpointOptions {
  readonly tasks: Pick<Tasks, 'get'>;
  readonly logFollower: LogFollower;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

const logQuery = z.object({
  follow: queryBoolean()
    .refine((follow) => follow, {
      error: 'must be true here; the log as text is at /api/2.0/workbench/task/{id}/log',
    })
    .default(true)
    .meta({ description: 'Must be `true`.', example: true, override: shownDefault(true) }),
  since: queryString().optional().meta({
    description: 'Id of the event to continue after. A header Last-Event-ID has precedence.',
    example: '1.1207',
  }),
  timeout: queryInteger({ minimum: 0, maximum: 86_400 })
    .default(DEFAULT_TIMEOUT_S)
    .meta({
      description: 'Seconds after which the stream ends.',
      example: DEFAULT_TIMEOUT_S,
      override: shownDefault(DEFAULT_TIMEOUT_S),
    }),
});

export function logFollowEndpoint(options: LogFollowEndpointOptions): Endpoint {
  const authorizations = new StreamAuthorizations(options.clock);
  const shares = new StreamShares(LIMITS);
  return endpoint(
    {
      method: 'get',
      path: '/api/x/tasks/{id}/log',
      isLarge: true,
      tag: 'Events',
      operationId: 'followTaskLog',
      summary: 'Follow what the scripts of a task print',
      description:
        'Server-sent events: `attempt` when an attempt begins, `output` with its text, `skipped` for output that is no longer ' +
        'kept while the task runs, and `end` with the status of the task. Waits for the start of the task.',
      params: idParams,
      query: logQuery,
      responses: {
        200: { description: 'The events.', schema: z.string(), contentType: EVENT_STREAM },
        404: { description: 'There is no such task.' },
        429: { description: 'The user follows too many logs.' },
      },
    },
    async ({ params: { id }, query: { since, timeout }, context, caller }) => {
      await options.tasks.get(id);
      const from = placeOf(context.req.header('last-event-id') || since);
      const ended = shares.begin(caller);
      const open = (connection: EventConnection) => {
        const stream = new LogStream(connection, authorizations.of(connection), options);
        void stream.run(id, from, timeout * 1000);
      };
      return new EventStreamResponse(open, { ended });
    },
  );
}

/** The beginning for anything that is no place. */
function placeOf(id: string | undefined): LogPlace {
  const [, attempt, offset] = /^(\d{1,9})\.(\d{1,15})$/.exec(id ?? '') ?? [];
  return { attempt: Number(attempt ?? 0), offset: Number(offset ?? 0) };
}

class LogStream {
  readonly #connection: EventConnection;
  readonly #mayListen: () => Promise<boolean>;
  readonly #options: LogFollowEndpointOptions;
  readonly #client = new AbortController();
  #onRead: () => void = () => undefined;

  constructor(
    connection: EventConnection,
    mayListen: () => Promise<boolean>,
    options: LogFollowEndpointOptions,
  ) {
    this.#connection = connection;
    this.#mayListen = mayListen;
    this.#options = options;
    connection.onRead(() => this.#onRead());
    connection.onClosed(() => {
      this.#client.abort();
      this.#onRead();
    });
  }

  async run(id: string, from: LogPlace, timeoutMs: number): Promise<void> {
    const { logFollower, timers, log } = this.#options;
    const timer = timers.after(timeoutMs, () => this.#client.abort());
    this.#connection.send(BEGINNING);
    this.#commentLater();
    try {
      for await (const event of logFollower.follow(id, from, this.#client.signal)) {
        if (!(await this.#mayListen()) || this.#client.signal.aborted) break;
        this.#connection.send(new SharedBytes(textOf(event)));
        await this.#read();
        if (this.#client.signal.aborted) break;
      }
    } catch (error) {
      log.info({ err: error, taskId: id }, 'the output of a task can no longer be followed');
    }
    timer.cancel();
    this.#client.abort();
    this.#connection.end();
  }

  /** Resolves when the client has few unread bytes, or has left. */
  async #read(): Promise<void> {
    if (this.#connection.unreadBytes <= MAX_UNREAD_BYTES || this.#client.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.#onRead = resolve;
    });
  }

  #commentLater(): void {
    const timer = this.#options.timers.after(COMMENT_EVERY_MS, () => {
      void this.#mayListen().then((may) => {
        if (!may) return this.#client.abort();
        if (this.#connection.unreadBytes === 0) this.#connection.send(COMMENT);
        if (!this.#client.signal.aborted) this.#commentLater();
      });
    });
    this.#client.signal.addEventListener('abort', () => timer.cancel(), { once: true });
  }
}

function textOf({ type, place, ...data }: LogEvent): string {
  return eventText(type, `${place.attempt}.${place.offset}`, JSON.stringify(data));
}
