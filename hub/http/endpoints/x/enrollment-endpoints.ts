/** Enrollment and revocation of agents (contract 12.14). */
import { agentIdSchema } from '@workbench-hub/shared/agent-protocol/messages';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import { HubError } from '../../../core/errors.js';
import { isOwnAgentId, OWN_AGENT_ID } from '../../../core/own-agent.js';
import type { Nodes } from '../../../core/ports/nodes.js';
import type { AgentCredentials } from '../../../engine/accounts/agent-credentials.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownWithoutNull } from '../../wire/openapi-overrides.js';

const DEFAULT_VALID_S = 3600;
/** A code is meant to be used at once. */
const MAX_VALID_S = 7 * 86_400;

const ID_ALLOWED = 'must be 1 to 200 letters, digits and . _ : @ -, as in "id" of the agent';

const enrollmentRequest = z
  .object({
    id: z
      .string()
      // Shown in the document; the rule of agents decides.
      .regex(/^[\p{L}\p{N}._:@-]{1,200}$/u, { error: ID_ALLOWED })
      .refine((id) => agentIdSchema.safeParse(id).success, { error: ID_ALLOWED })
      .refine((id) => !isOwnAgentId(id), {
        error: `must not be ${OWN_AGENT_ID}, which is reserved for the instances of the hub itself, or begin with ${OWN_AGENT_ID}.`,
      })
      .meta({ description: 'Id of the agent, which need not be known.', example: 'sim-host-1' }),
    validFor: z
      .int()
      .min(1)
      .max(MAX_VALID_S)
      .nullish()
      .meta({
        description: `Seconds for which the code is valid; ${DEFAULT_VALID_S} when left out.`,
        example: DEFAULT_VALID_S,
        override: shownWithoutNull,
      }),
  })
  .meta({ id: 'EnrollmentRequest' });

const code = z
  .object({
    id: z.string().meta({ description: 'Agent that may use the code.', example: 'sim-host-1' }),
    code: z.string().meta({
      description: 'The code, which is shown only once: `workbench-agent enroll` on the host asks for it.',
      example: '7K2M-9QXA-4ZTN-8PWD-3RHV-6CJE-1BYF',
    }),
    expiresAt: z.string().meta({
      description: 'When it ceases to be valid.',
      example: '2026-11-21T06:53:00.123+01:00',
    }),
  })
  .meta({ id: 'EnrollmentCode' });

export interface EnrollmentEndpointsOptions {
  readonly credentials: Pick<AgentCredentials, 'offer' | 'revoke' | 'all'>;
  readonly nodes: Pick<Nodes, 'agent' | 'drains'>;
  /** `agents.enrolledOnly` */
  readonly enrolledOnly: boolean;
}

export function enrollmentEndpoints(options: EnrollmentEndpointsOptions): Endpoint[] {
  const { credentials } = options;
  return [
    endpoint(
      {
        method: 'post',
        path: '/api/x/agents',
        operationId: 'enrollAgent',
        tag: 'Agents',
        summary: 'Make a one-time code with which an agent fetches its credential',
        description:
          'An earlier unused code of the agent ceases to be valid; its credential stays until the new code is used.',
        body: enrollmentRequest,
        responses: { 201: { description: 'The code, which is shown only once.', schema: code } },
      },
      async ({ body: { id, validFor }, context, audit }) => {
        audit.detail = `agent ${id}`;
        const offered = await credentials.offer(id, (validFor ?? DEFAULT_VALID_S) * 1000);
        return context.json({ id, code: offered.code, expiresAt: offsetTimestamp(offered.expiresAtMs) }, 201);
      },
    ),
    endpoint(
      {
        method: 'post',
        path: '/api/x/agents/{id}/revoke',
        operationId: 'revokeAgent',
        tag: 'Agents',
        summary: 'End the credential and an unused code of an agent',
        description: 'Its connection ends within seconds. It can be enrolled again.',
        params: idParams,
        responses: {
          204: { description: 'The credential is no longer valid.' },
          404: { description: 'There is no such agent.' },
          409: { description: 'The agent has neither a credential nor an unused code.' },
        },
      },
      async ({ params: { id }, context }) => {
        if (!(await credentials.revoke(id))) throw await notEnrolled(id, options);
        return context.body(null, 204);
      },
    ),
  ];
}

async function notEnrolled(
  id: string,
  { credentials, nodes, enrolledOnly }: EnrollmentEndpointsOptions,
): Promise<HubError> {
  const wasEnrolled = (await credentials.all()).some(({ agentId }) => agentId === id);
  const isDrained = (await nodes.drains()).some(({ agentId }) => agentId === id);
  if (!wasEnrolled && !isDrained && !(await nodes.agent(id))) {
    return new HubError('AGENT_NOT_FOUND', `there is no agent with the id ${JSON.stringify(id)}`);
  }
  const otherwise = enrolledOnly
    ? 'without one it cannot join'
    : 'to exclude an agent that joins by agents.token, change the token or set agents.enrolledOnly';
  return new HubError(
    'AGENT_NOT_ENROLLED',
    `agent ${JSON.stringify(id)} has no credential to revoke; ${otherwise}`,
  );
}
