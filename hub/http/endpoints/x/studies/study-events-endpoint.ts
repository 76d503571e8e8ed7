/** A study as a stream of events (contract 12.45). */
import { z } from 'zod';
import type { StudyFollower } from '../../../../engine/studies/study-follower.js';
import type { CountedRecord, StudyService } from '../../../../engine/studies/study-service.js';
import { idParams } from '../../../requests/parsing/request-schemas.js';
import { queryInteger } from '../../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../../routing/endpoint.js';
import { EVENT_STREAM, EventStreamResponse } from '../../../routing/responses/event-stream.js';
import { FollowStreams, type FollowStreamsOptions } from '../../../routing/responses/follow-stream.js';
import { StreamShares } from '../../../routing/responses/stream-shares.js';
import { shownDefault } from '../../../wire/openapi-overrides.js';
import { presentStudyItem } from './present-study.js';

const DEFAULT_TIMEOUT_S = 3600;
const LIMITS = { streams: 16, filters: 1, inWords: 'follows 16 studies' };

export interface StudyEventsOptions extends FollowStreamsOptions {
  readonly studies: Pick<StudyService, 'check'>;
  readonly studyFollower: Pick<StudyFollower, 'follow'>;
}

const eventsQuery = z.object({
  timeout: queryInteger({ minimum: 0, maximum: 86_400 })
    .default(DEFAULT_TIMEOUT_S)
    .meta({
      description: 'Seconds after which the stream ends; with 0, it ends when the present state was told.',
      example: DEFAULT_TIMEOUT_S,
      override: shownDefault(DEFAULT_TIMEOUT_S),
    }),
});

export function studyEventsEndpoint(options: StudyEventsOptions): Endpoint {
  const { studies, studyFollower } = options;
  const streams = new FollowStreams(options);
  const shares = new StreamShares(LIMITS);
  return endpoint(
    {
      method: 'get',
      path: '/api/x/studies/{id}/events',
      isLarge: true,
      tag: 'Studies',
      operationId: 'streamStudyEvents',
      summary: 'Follow a study',
      description:
        'Server-sent events: `study` with the study as in lists, at once and whenever its state or its numbers of points have changed, ' +
        'about once a second at most, and `removed` when it was deleted. Stays open until `timeout`, also after the end of the study, ' +
        'which may run again, and ends with the session of the caller.',
      params: idParams,
      query: eventsQuery,
      responses: {
        200: { description: 'The events.', schema: z.string(), contentType: EVENT_STREAM },
        404: { description: 'There is no such study.' },
        429: { description: 'The user follows too many studies.' },
      },
    },
    async ({ params: { id }, query: { timeout }, caller }) => {
      await studies.check(id);
      const ended = shares.begin(caller);
      const follow = async function* (client: AbortSignal) {
        for await (const study of studyFollower.follow(id, client)) {
          yield textOf(id, study);
          if (timeout === 0) return;
        }
      };
      const request = { follow, timeoutMs: timeout === 0 ? null : timeout * 1000, of: { studyId: id } };
      return new EventStreamResponse((connection) => streams.open(connection, request), { ended });
    },
  );
}

/** An event without an id: whoever connects again gets the study as it is then. */
function textOf(id: string, study: CountedRecord | null): string {
  const [type, data] = study === null ? ['removed', { id }] : ['study', presentStudyItem(study)];
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
