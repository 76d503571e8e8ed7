/** The crashes of an instance (contract 12.26). */
import { MAX_CRASHES } from '@workbench-hub/shared/domain/instance';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { z } from 'zod';
import type { InstanceControl } from '../../../engine/instances/instance-control.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';

const crash = z
  .object({
    at: z.string().meta({ example: '2026-11-21T07:02:11.456+01:00' }),
    reason: z.string().meta({
      description: 'How the program ended, with its last lines on standard error.',
      example: 'the instance program was ended by SIGSEGV',
    }),
    taskId: z.string().optional().meta({ description: 'Task that it worked on.' }),
  })
  .meta({ id: 'InstanceCrash' });

const crashes = z
  .object({
    since: z.string().meta({
      description: 'Start of the agent, which remembers no earlier crashes.',
      example: '2026-11-21T06:53:00.123+01:00',
    }),
    count: z.int().meta({ description: 'Number of crashes since then.', example: 1 }),
    crashes: z
      .array(crash)
      .meta({ description: `The latest of them, newest first, ${MAX_CRASHES} at most.` }),
  })
  .meta({ id: 'InstanceCrashes' });

export function instanceCrashesEndpoint(
  control: Pick<InstanceControl, 'crashes'>,
  clock: Pick<Clock, 'nowMs'>,
): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/instances/{id}/crashes',
      tag: 'Workbench instances',
      operationId: 'listInstanceCrashes',
      summary: 'The crashes of a workbench instance',
      description:
        'Ends of its program that nobody asked for, since its agent started. Its agent is asked for them. Times are exact to ' +
        'the transmission time.',
      params: idParams,
      responses: {
        200: { description: 'The crashes.', schema: crashes },
        404: { description: 'There is no such instance.' },
        502: {
          description:
            'The agent of the instance is not connected, did not answer within 10 s, or is of a version that remembers none.',
        },
      },
    },
    async ({ params: { id }, context }) => {
      const { agentUpForMs, count, latest } = await control.crashes(id);
      const nowMs = clock.nowMs();
      const before = (durationMs: number) => offsetTimestamp(Math.round(nowMs - durationMs));
      return context.json({
        since: before(agentUpForMs),
        count,
        crashes: latest.map(({ agoMs, reason, taskId }) => ({
          at: before(agoMs),
          reason,
          ...(taskId === null ? {} : { taskId }),
        })),
      });
    },
  );
}
