/** The output of a task as a stream of events (contract 12.11). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { z } from 'zod';
import type { LogEvent, LogFollower, LogPlace } from '../../../engine/following/log-follower.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { queryBoolean, queryInteger, queryString } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { EVENT_STREAM, EventStreamResponse, eventText } from '../../routing/responses/event-stream.js';
import { FollowStreams } from '../../routing/responses/follow-stream.js';
import { StreamShares } from '../../routing/responses/stream-shares.js';
import { shownDefault } from '../../wire/openapi-overrides.js';

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
  const streams = new FollowStreams(options);
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
      const follow = async function* (client: AbortSignal) {
        for await (const event of options.logFollower.follow(id, from, client)) yield textOf(event);
      };
      const request = { follow, timeoutMs: timeout * 1000, of: { taskId: id } };
      return new EventStreamResponse((connection) => streams.open(connection, request), { ended });
    },
  );
}

/** The beginning for anything that is no place. */
function placeOf(id: string | undefined): LogPlace {
  const [, attempt, offset] = /^(\d{1,9})\.(\d{1,15})$/.exec(id ?? '') ?? [];
  return { attempt: Number(attempt ?? 0), offset: Number(offset ?? 0) };
}

function textOf({ type, place, ...data }: LogEvent): string {
  return eventText(type, `${place.attempt}.${place.offset}`, JSON.stringify(data));
}
