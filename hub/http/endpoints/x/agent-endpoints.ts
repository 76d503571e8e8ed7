/** Agents and their draining, an extension of the contract. */
import {
  ARCHITECTURES,
  INSTALLATION_KINDS,
  type Installation,
  OPERATING_SYSTEMS,
} from '@workbench-hub/shared/domain/installation';
import { AGENT_STATUSES, INSTANCE_STATUSES } from '@workbench-hub/shared/domain/instance';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { z } from 'zod';
import { type Caller, holdsRole } from '../../../core/access.js';
import type { AgentUpdateState } from '../../../core/agent-update-state.js';
import { HubError } from '../../../core/errors.js';
import type { AgentView, Nodes } from '../../../core/ports/nodes.js';
import type { AgentCredentials } from '../../../engine/accounts/agent-credentials.js';
import type { AgentDrains } from '../../../engine/agents/agent-drains.js';
import type { RolloutViews } from '../../../engine/agents/rollout-views.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { pageQuery } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom, pageSchema } from '../../routing/responses/page.js';
import { listAgents } from '../common/lookups.js';
import { type AgentUpdateEndpointsOptions, agentUpdateEndpoints } from './agent-update-endpoints.js';
import { progressSchema } from './rollout-endpoints.js';

const PATH = '/api/x/agents';

const joinedHub = z
  .object({
    baseUrl: z.string().optional().meta({
      description: 'Address for access to it; absent when it has no public one.',
      example: 'https://berlin.example.com',
    }),
    below: z.array(z.array(z.string())).meta({
      description:
        'Ways to the hubs that have joined it, directly or over others: ids of agents, from hub to hub.',
      example: [['hall-2'], ['hall-2', 'cell-7']],
    }),
  })
  .meta({ id: 'JoinedHub' });

const updateState = z
  .object({
    progress: progressSchema,
    version: z.string().meta({ description: 'Version to which the hub brings agents.', example: '0.2.0' }),
    running: z.string().optional().meta({
      description: 'Version that runs, with the digest of its file. Absent while it is not known.',
      example: '0.1.0-9f86d081884c7d65',
    }),
    reason: z.string().optional().meta({
      description: 'For ADMIN: why it is not updated, cannot be for now, or has failed.',
      example: 'it ended with exit code 1',
    }),
    changedAt: z.string().optional().meta({
      description: 'When its progress changed. Absent when no rollout has it. Local time of the hub.',
      example: '2026-11-21T06:53:00.123',
    }),
  })
  .meta({ id: 'AgentUpdateState' });

const agentState = z
  .object({
    id: z.string().meta({ example: 'sim-host-1' }),
    version: z.string().optional().meta({ description: 'Absent for an agent that has not joined.' }),
    installation: z
      .enum(INSTALLATION_KINDS)
      .optional()
      .meta({
        description:
          'How it was installed: the single file, by npm, the Debian package, the container image, or from a clone of the ' +
          'sources. Absent for an agent of an earlier version and for a hub.',
        example: 'DEBIAN',
      }),
    operatingSystem: z.enum(OPERATING_SYSTEMS).optional().meta({
      description: 'Absent for an agent of an earlier version and for a hub.',
      example: 'linux',
    }),
    architecture: z.enum(ARCHITECTURES).optional().meta({
      description: 'Processor architecture. Absent for an agent of an earlier version and for a hub.',
      example: 'x64',
    }),
    update: updateState.optional().meta({
      description:
        'Its update by the hub, as it was seen last. Absent when the hub updates no agents, for an agent of an earlier version ' +
        'and for a hub.',
    }),
    status: z.enum(AGENT_STATUSES),
    lastSeenAt: z.string().optional().meta({
      description:
        'Only while DOWN: when it left or joined last, as far as the hub knows. Local time of the hub.',
      example: '2026-11-21T06:53:00.123',
    }),
    hub: joinedHub
      .optional()
      .meta({ description: 'Only of a hub that has joined this one, while it is UP.' }),
    drained: z.boolean().meta({ description: 'True when no task begins on its instances.' }),
    drainedSince: z.string().optional().meta({
      description: 'Only while drained. Local time of the hub.',
      example: '2026-11-21T06:53:00.123',
    }),
    drainedBy: z.string().optional().meta({
      description: 'Only while drained. User, or for a command the account on the machine of the hub.',
      example: 'anna',
    }),
    runningTasks: z.int().meta({
      description: 'Tasks that it runs, or may still run while it is unreachable.',
      example: 2,
    }),
    instances: z
      .object(Object.fromEntries(INSTANCE_STATUSES.map((status) => [status, z.int()])))
      .meta({ description: 'Number of its instances by status.' }),
  })
  .meta({ id: 'AgentState' });

const agentResponses = {
  200: { description: 'The agent.', schema: agentState },
  404: { description: 'There is no such agent.' },
};

export interface AgentEndpointsOptions {
  readonly nodes: Nodes;
  readonly drains: AgentDrains;
  readonly rolloutViews: Pick<RolloutViews, 'updateStates'>;
  readonly updates: AgentUpdateEndpointsOptions['updates'];
  readonly credentials: Pick<AgentCredentials, 'isEnrolled'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export function agentEndpoints(options: AgentEndpointsOptions): Endpoint[] {
  const states = agentStates(options);
  const { refuseUnknown } = states;
  return [
    ...stateEndpoints(options, states),
    ...drainEndpoints(options, states),
    ...agentUpdateEndpoints({ ...options, refuseUnknown }),
  ];
}

function agentStates({ nodes, drains, credentials, rolloutViews }: AgentEndpointsOptions) {
  const drainOf = async (id: string) => (await nodes.drains()).find(({ agentId }) => agentId === id) ?? null;
  const stateWith = async (updateOf: UpdateOf, id: string, caller: Caller) => {
    const known = await nodes.agent(id);
    const drain = known ? known.drain : await drainOf(id);
    const update = known && updateOf(known);
    return {
      id,
      ...(known && { version: known.version, ...presentInstallation(known.installation) }),
      ...(update && { update: presentUpdate(update, holdsRole(caller, 'ADMIN')) }),
      status: known?.status ?? ('DOWN' as const),
      ...(known?.status === 'DOWN' && { lastSeenAt: localTimestamp(known.seenAtMs) }),
      ...(known?.hub && { hub: presentHub(known.hub) }),
      drained: drain !== null,
      ...(drain && { drainedSince: localTimestamp(drain.sinceMs), drainedBy: drain.by }),
      runningTasks: await drains.runningTasksOn(id),
      instances: countByStatus(known?.instances ?? []),
    };
  };
  const stateOf = async (id: string, caller: Caller) =>
    stateWith(await rolloutViews.updateStates(), id, caller);
  const statesOf = async (ids: readonly string[], caller: Caller) => {
    const updateOf = await rolloutViews.updateStates();
    return Promise.all(ids.map((id) => stateWith(updateOf, id, caller)));
  };
  const refuseUnknown = async (id: string) => {
    if ((await nodes.agent(id)) || (await drainOf(id)) || (await credentials.isEnrolled(id))) return;
    throw new HubError('AGENT_NOT_FOUND', `there is no agent with the id ${JSON.stringify(id)}`);
  };
  return { stateOf, statesOf, refuseUnknown };
}

type UpdateOf = (agent: AgentView) => AgentUpdateState | undefined;

type AgentStates = ReturnType<typeof agentStates>;

function stateEndpoints(
  { nodes }: AgentEndpointsOptions,
  { stateOf, statesOf, refuseUnknown }: AgentStates,
): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: PATH,
        operationId: 'listAgentStates',
        tag: 'Agents',
        summary: 'List the agents with their drains, by id',
        description: 'Drained agents that have not joined are included.',
        query: z.object(pageQuery),
        responses: {
          200: { description: 'One page of agents.', schema: pageSchema(agentState, 'AgentStatePage') },
        },
      },
      async ({ query, caller, context }) => {
        const page = pageFrom(await idsOf(nodes), query);
        return context.json({ ...page, content: await statesOf(page.content, caller) });
      },
    ),
    endpoint(
      {
        method: 'get',
        path: `${PATH}/{id}`,
        operationId: 'getAgentState',
        description: 'Drained and enrolled agents that have not joined are found, too.',
        tag: 'Agents',
        summary: 'One agent, with its drain',
        params: idParams,
        responses: agentResponses,
      },
      async ({ params: { id }, caller, context }) => {
        await refuseUnknown(id);
        return context.json(await stateOf(id, caller));
      },
    ),
  ];
}

function drainEndpoints(
  { drains }: AgentEndpointsOptions,
  { stateOf, refuseUnknown }: AgentStates,
): Endpoint[] {
  return [
    endpoint(
      {
        method: 'post',
        path: `${PATH}/{id}/drain`,
        operationId: 'drainAgent',
        tag: 'Agents',
        summary: 'Let an agent end its tasks and begin no new ones',
        description:
          'Takes effect before the response, and stays over restarts and reconnects until it is undrained. An enrolled agent ' +
          'can be drained before it joins. Draining a drained agent changes nothing.',
        params: idParams,
        responses: agentResponses,
      },
      async ({ params: { id }, caller, context }) => {
        await refuseUnknown(id);
        await drains.drain(id, caller.username);
        return context.json(await stateOf(id, caller));
      },
    ),
    endpoint(
      {
        method: 'post',
        path: `${PATH}/{id}/undrain`,
        operationId: 'undrainAgent',
        tag: 'Agents',
        summary: 'Let a drained agent begin tasks again',
        description: 'Changes nothing on an agent that is not drained.',
        params: idParams,
        responses: agentResponses,
      },
      async ({ params: { id }, caller, context }) => {
        await refuseUnknown(id);
        await drains.undrain(id);
        return context.json(await stateOf(id, caller));
      },
    ),
  ];
}

function presentInstallation({ kind, os, arch }: Installation) {
  return {
    ...(kind && { installation: kind }),
    ...(os && { operatingSystem: os }),
    ...(arch && { architecture: arch }),
  };
}

function presentUpdate(
  { progress, version, running, reason, changedAtMs }: AgentUpdateState,
  isAdmin: boolean,
) {
  return {
    ...{ progress, version },
    ...(running !== null && { running }),
    ...(isAdmin && reason !== null && { reason }),
    ...(changedAtMs !== null && { changedAt: localTimestamp(changedAtMs) }),
  };
}

function presentHub({ baseUrl, below }: JoinedHub) {
  return { ...(baseUrl === null ? {} : { baseUrl }), below: below.map(({ path }) => [...path]) };
}

/** Known and drained agents. */
async function idsOf(nodes: Nodes): Promise<string[]> {
  const known = (await listAgents(nodes)).map(({ id }) => id);
  const drained = (await nodes.drains()).map(({ agentId }) => agentId);
  return [...new Set([...known, ...drained])].sort();
}

function countByStatus(instances: AgentView['instances']): Record<string, number> {
  const counts = Object.fromEntries(INSTANCE_STATUSES.map((status) => [status, 0]));
  for (const { status } of instances) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
