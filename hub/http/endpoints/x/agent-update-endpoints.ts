/** Updates of agents by the hub, an extension of the contract (12.52). */
import { type AgentUpdate, UPDATE_PHASES } from '@workbench-hub/shared/domain/agent-update';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { z } from 'zod';
import type { AgentUpdates } from '../../../engine/agents/agent-updates.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { queryBoolean } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownDefault } from '../../wire/openapi-overrides.js';

const failedUpdate = z
  .object({
    version: z.string().meta({ example: '0.2.0-9f86d081884c7d65' }),
    reason: z.string().meta({ example: 'it ended with exit code 1' }),
    log: z.string().meta({ description: 'End of what it printed, 16,384 characters at most.' }),
    at: z.string().meta({ example: '2026-11-21T07:02:11.456+01:00' }),
  })
  .meta({ id: 'FailedAgentUpdate' });

const agentUpdate = z
  .object({
    updatable: z.boolean().meta({ description: 'Whether hubs may update this agent.' }),
    reason: z.string().optional().meta({
      description: 'Why hubs may not update it.',
      example: 'this agent was installed as a Debian package: update it by apt',
    }),
    system: z.string().meta({ description: 'System that its file is for.', example: 'linux-x64' }),
    phase: z.enum(UPDATE_PHASES),
    running: z.string().optional().meta({
      description: 'Version that runs; absent for an agent that hubs may not update.',
      example: '0.2.0-9f86d081884c7d65',
    }),
    target: z.string().optional().meta({
      description: 'Version that the phase is about; absent while that is `IDLE`.',
      example: '0.2.0-9f86d081884c7d65',
    }),
    problem: z
      .string()
      .optional()
      .meta({
        description:
          'Why the latest order was not carried out, although its version has not failed: it was never started, or a fault of the ' +
          'host has ended its trial.',
        example: 'ENOSPC: no space left on device, write',
      }),
    failed: failedUpdate
      .optional()
      .meta({ description: 'The latest version that did not prove itself there.' }),
  })
  .meta({ id: 'AgentUpdate' });

const responses = {
  200: { description: 'The state of the agent.', schema: agentUpdate },
  404: { description: 'There is no such agent.' },
  502: {
    description:
      'The agent is not connected, did not answer within 10 s, or is of a version that knows no updates.',
  },
};

export interface AgentUpdateEndpointsOptions {
  readonly updates: Pick<AgentUpdates, 'state' | 'order'>;
  /** Throws AGENT_NOT_FOUND. */
  readonly refuseUnknown: (agentId: string) => Promise<void>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export function agentUpdateEndpoints({
  updates,
  refuseUnknown,
  clock,
}: AgentUpdateEndpointsOptions): Endpoint[] {
  const path = '/api/x/agents/{id}/update';
  return [
    endpoint(
      {
        method: 'get',
        path,
        operationId: 'getAgentUpdate',
        tag: 'Agents',
        summary: 'The version of an agent, and its update',
        description: 'The agent is asked, also by a hub that it is not connected to.',
        params: idParams,
        responses,
      },
      async ({ params: { id }, context }) => {
        await refuseUnknown(id);
        return context.json(presented(await updates.state(id), clock));
      },
    ),
    endpoint(
      {
        method: 'post',
        path,
        operationId: 'updateAgent',
        tag: 'Agents',
        summary: 'Update an agent to the version of the hub',
        description:
          'The agent fetches the version of this hub, starts it once it runs no task, and takes it back unless it joins and ' +
          'finishes a probe job within a minute. The response is sent when it has taken the order; an agent that runs this ' +
          'version already does nothing.',
        params: idParams,
        query: z.object({
          again: queryBoolean()
            .default(false)
            .meta({
              description:
                'Whether to try a version again that has failed there, and without a pause one that the host could not try.',
              example: false,
              override: shownDefault(false),
            }),
        }),
        responses: {
          ...responses,
          409: {
            description:
              'The hub updates no agents, hubs may not update this one, or this version has failed there before.',
          },
        },
      },
      async ({ params: { id }, query: { again }, context }) => {
        await refuseUnknown(id);
        return context.json(presented(await updates.order(id, { again }), clock));
      },
    ),
  ];
}

function presented(update: AgentUpdate, clock: Pick<Clock, 'nowMs'>) {
  const { unable, system, phase, running, target, problem, failed } = update;
  return {
    updatable: unable === null,
    ...(unable === null ? {} : { reason: unable }),
    system,
    phase,
    ...(running === null ? {} : { running }),
    ...(target === null ? {} : { target }),
    ...(problem === null ? {} : { problem }),
    ...(failed && {
      failed: {
        version: failed.name,
        reason: failed.reason,
        log: failed.log,
        at: offsetTimestamp(Math.round(clock.nowMs() - failed.agoMs)),
      },
    }),
  };
}
