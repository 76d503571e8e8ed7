/** The stream of what happens to tasks (contract 12.10). */
import { z } from 'zod';
import { creatorOf } from '../../../core/access.js';
import type { ChangeFeed } from '../../../engine/following/change-feed.js';
import { queryInteger, queryString } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { EVENT_STREAM, EventStreamResponse } from '../../routing/responses/event-stream.js';
import { StreamShares } from '../../routing/responses/stream-shares.js';
import { shownDefault } from '../../wire/openapi-overrides.js';
import type { TaskEventStreams } from './task-event-streams.js';
import { taskFilterFields, taskFilterOf } from './task-filter-query.js';

const DEFAULT_TIMEOUT_S = 3600;

/** A browser has one stream for all its tabs, or one for each where it is not trusted with locks. */
const LIMITS = { streams: 16, filters: 8, inWords: 'has 16 streams of events open' };

const eventsQuery = z.object({
  ...taskFilterFields,
  since: queryString().optional().meta({
    description: 'Cursor to continue at; the present by default. A header Last-Event-ID has precedence.',
    example: '5f0c6a9e1b3d.1207',
  }),
  timeout: queryInteger({ minimum: 0, maximum: 86_400 })
    .default(DEFAULT_TIMEOUT_S)
    .meta({
      description: 'Seconds after which the stream ends; with 0, it ends when all present changes were told.',
      example: DEFAULT_TIMEOUT_S,
      override: shownDefault(DEFAULT_TIMEOUT_S),
    }),
});

export function eventEndpoints(feed: Pick<ChangeFeed, 'latest'>, streams: TaskEventStreams): Endpoint[] {
  const shares = new StreamShares(LIMITS);
  return [
    endpoint(
      {
        method: 'get',
        path: '/api/x/events',
        isLarge: true,
        tag: 'Events',
        operationId: 'streamEvents',
        summary: 'Follow the changes of tasks as they happen',
        description:
          'Server-sent events: `hello`, `task` with the task as it is, `removed` for one that was deleted or no longer ' +
          'matches, and `reset` when changes cannot be told: then list the tasks again. The id of an event is the ' +
          'cursor to continue at. Stays open until `timeout`, and ends with the session of the caller.',
        query: eventsQuery,
        responses: {
          200: { description: 'The events.', schema: z.string(), contentType: EVENT_STREAM },
          429: { description: 'The user has too many streams, or too many different filters.' },
        },
      },
      async ({ query, context, caller }) => {
        const { since, timeout } = query;
        const asked = context.req.header('last-event-id') || since;
        const cursor = asked === undefined || asked === '' ? await feed.latest() : asked;
        const filter = taskFilterOf(query);
        const owner = creatorOf(caller);
        const request = { filter, owner, cursor: plain(cursor), timeoutMs: timeout * 1000 };
        const ended = shares.begin(caller, JSON.stringify(filter));
        return new EventStreamResponse((connection) => streams.open(connection, request), {
          ended,
          isCompressed: true,
        });
      },
    ),
  ];
}

/** Greatest length of a cursor (contract 12.29). */
const MAX_CURSOR_LENGTH = 250;

/** A cursor that can be written into an event; any other is unknown, and leads to a reset. */
function plain(cursor: string): string {
  return cursor.length <= MAX_CURSOR_LENGTH && /^[\w.-]+$/.test(cursor) ? cursor : 'unknown';
}
