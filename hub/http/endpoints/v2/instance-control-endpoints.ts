/** Control of workbench instances in API version 2.x (contract 6.3 and 6.4). */
import { INSTANCE_COMMANDS, INSTANCE_LOG_TYPES } from '@workbench-hub/shared/domain/instance';
import { z } from 'zod';
import { creatorOf } from '../../../core/access.js';
import { partOfText } from '../../../core/log-parts.js';
import type { InstanceControl } from '../../../engine/instances/instance-control.js';
import { logQuery } from '../../requests/parsing/log-query.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { logResponse, logResponses, positionsOf, textContent } from '../common/log-response.js';

const BASE = '/api/2.0/workbench/node/instance/{id}';
const NOT_FOUND = { description: 'There is no such instance.' };
const BAD_GATEWAY = {
  description: 'The agent of the instance is not connected or did not answer within 10 s.',
};

const SUMMARIES = {
  start: 'Start a workbench instance',
  stop: 'Stop a workbench instance when its task has ended',
  restart: 'Restart a workbench instance when its task has ended',
};

const logParams = z.object({
  id: z.string(),
  type: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(INSTANCE_LOG_TYPES, { error: `must be one of ${INSTANCE_LOG_TYPES.join(', ')}` }))
    .meta({
      description: '`stdout`, `stderr`, or `console` for both in order.',
      example: 'console',
      override: { type: 'string', enum: [...INSTANCE_LOG_TYPES] },
    }),
});

export function instanceControlEndpoints(control: InstanceControl): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: `${BASE}/log/{type}`,
        isLarge: true,
        tag: 'Workbench instances',
        operationId: 'getInstanceLog',
        summary: 'The latest lines of a log of a workbench instance',
        description:
          'Output of the instance program, as its agent keeps it. `tail` and `offset` select a part, and `Range: ' +
          'bytes=…` one range of that. Agents of earlier versions do not tell positions: then `offset` selects everything.',
        params: logParams,
        query: logQuery,
        responses: {
          ...logResponses('The lines; empty when there are none.'),
          404: NOT_FOUND,
          502: BAD_GATEWAY,
        },
      },
      async ({ params, query: { tail, offset }, context }) => {
        const latest = await control.log(params.id, params.type);
        const isPositioned = latest.offset !== null;
        const part = partOfText(
          { text: latest.text, offset: latest.offset ?? 0 },
          { tail, offset: isPositioned ? offset : undefined },
        );
        const isInPart = tail !== undefined || offset !== undefined;
        const text = isInPart ? part.text : latest.text;
        const positions = isInPart && isPositioned ? positionsOf(part) : null;
        return logResponse(context, textContent(`the log of instance ${params.id}`, text), positions);
      },
    ),
    ...INSTANCE_COMMANDS.map((command) =>
      endpoint(
        {
          method: 'patch',
          path: `${BASE}/${command}`,
          tag: 'Workbench instances',
          operationId: `${command}Instance`,
          summary: SUMMARIES[command],
          description: 'Acts in the background. The last of several requests counts.',
          params: idParams,
          responses: { 202: { description: 'Requested.' }, 404: NOT_FOUND, 502: BAD_GATEWAY },
        },
        async ({ params, caller, context }) => {
          await control.command(params.id, command, { user: creatorOf(caller) });
          return context.body(null, 202);
        },
      ),
    ),
  ];
}
