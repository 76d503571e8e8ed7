/** The rollout of the hub's version to agents, an extension of the contract (12.53). */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import {
  ROLLOUT_PROGRESS,
  ROLLOUT_STATES,
  type RolloutMember,
  type RolloutRules,
} from '../../../core/agent-rollout.js';
import type { RolloutView, RolloutViews } from '../../../engine/agents/rollout-views.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';

const PATH = '/api/x/rollout';
const TIME = '2026-11-21T06:53:00.123';

/** Progress of an agent, as the rollout and lists of agents show it. */
export const progressSchema = z.enum(ROLLOUT_PROGRESS).meta({
  description:
    'UNKNOWN: it has not told its version. UNABLE: hubs do not update it. OPEN: not ordered. WAITING: ordered, and it runs ' +
    'tasks, or cannot do it for now. UNDER_WAY: it fetches, restarts or is on trial. FAILED: it went back from the version. ' +
    'PASSED_OVER: it had failed when the rollout was resumed.',
});

const rolloutAgent = z
  .object({
    id: z.string().meta({ example: 'sim-host-1' }),
    group: z.int().meta({ description: 'Number of its group, from 1 on.', example: 1 }),
    progress: progressSchema,
    running: z.string().optional().meta({
      description: 'Version that runs. Absent while it is not known.',
      example: '0.2.0-9f86d081884c7d65',
    }),
    reason: z.string().optional().meta({
      description: 'Why it is not updated, cannot be for now, or has failed.',
      example: 'it ended with exit code 1',
    }),
    log: z.string().optional().meta({
      description: 'End of what the failed version printed, 16,384 characters at most.',
    }),
    changedAt: z
      .string()
      .meta({ description: 'When its progress changed. Local time of the hub.', example: TIME }),
  })
  .meta({ id: 'RolloutAgent' });

const rolloutGroup = z
  .object({
    labels: z.array(z.string()).meta({ description: 'Labels of its agents; none for all others.' }),
    agents: z.partialRecord(z.enum(ROLLOUT_PROGRESS), z.int()).meta({
      description: 'Numbers of its agents by their progress, without those that are zero.',
      example: { DONE: 2, OPEN: 5 },
    }),
  })
  .meta({ id: 'RolloutGroup' });

const rollout = z
  .object({
    state: z.enum(ROLLOUT_STATES).meta({
      description:
        'OFF: the hub updates no agents. ON_REQUEST: it has no groups. STOPPED: by a failure or an administrator. ' +
        'WAITING_FOR_HOURS: it is not the time for it. WAITING_FOR_HUBS: hubs of several versions share the database.',
    }),
    version: z.string().optional().meta({
      description: 'Version that agents are brought to. Absent while OFF.',
      example: '0.2.0',
    }),
    begunAt: z.string().optional().meta({
      description: 'When the hub first looked at the agents. Local time of the hub.',
      example: TIME,
    }),
    stoppedBy: z.string().optional().meta({
      description: 'Administrator who has stopped it. Absent when a failure has.',
      example: 'anna',
    }),
    stoppedAt: z.string().optional().meta({ description: 'Local time of the hub.', example: TIME }),
    canaries: z.int().optional().meta({
      description: 'Agents of each group that are done before the others of it begin.',
      example: 1,
    }),
    atOnce: z.int().optional().meta({
      description: 'Agents of a group that are under way at a time.',
      example: 5,
    }),
    hours: z
      .object({ from: z.string().meta({ example: '22:00' }), to: z.string().meta({ example: '05:00' }) })
      .optional()
      .meta({
        description: 'Hours in which agents are ordered, in the local time of the hub. Absent for all.',
      }),
    groups: z.array(rolloutGroup).meta({ description: 'In the order in which they are updated.' }),
    agents: z
      .array(rolloutAgent)
      .meta({ description: 'Agents of these groups as they were seen last, by id.' }),
  })
  .meta({ id: 'Rollout' });

const responses = { 200: { description: 'The rollout.', schema: rollout } };
const refused = { 409: { description: 'The hub has no rollout: no files or no groups.' } };

export function rolloutEndpoints(views: Pick<RolloutViews, 'view' | 'stop' | 'resume'>): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: PATH,
        operationId: 'getRollout',
        tag: 'Agents',
        summary: 'The rollout of the hub’s version to agents',
        description: 'It is what the scheduling hub saw last; it looks every 20 seconds.',
        responses,
      },
      async ({ context }) => context.json(presented(await views.view())),
    ),
    changeEndpoint(views, 'stop', {
      operationId: 'stopRollout',
      summary: 'Stop the rollout to agents',
      description:
        'No more agents are ordered to this version until it is resumed. Those that were ordered go on. A stopped rollout stays as it is.',
    }),
    changeEndpoint(views, 'resume', {
      operationId: 'resumeRollout',
      summary: 'Resume the rollout to agents',
      description:
        'It goes on within 20 seconds, also past the agents that have failed until now: they keep their version. ' +
        'One that is not stopped stays as it is.',
    }),
  ];
}

function changeEndpoint(
  views: Pick<RolloutViews, 'view' | 'stop' | 'resume'>,
  action: 'stop' | 'resume',
  words: { readonly operationId: string; readonly summary: string; readonly description: string },
): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: `${PATH}/${action}`,
      tag: 'Agents',
      responses: { ...responses, ...refused },
      ...words,
    },
    async ({ caller, context }) => {
      await views[action](caller.username);
      return context.json(presented(await views.view()));
    },
  );
}

function presented({ state, version, rollout: kept, rules, members }: RolloutView) {
  return {
    state,
    ...(version !== null && { version }),
    ...(kept && { begunAt: localTimestamp(kept.begunAtMs) }),
    ...(kept && kept.stoppedBy !== null && { stoppedBy: kept.stoppedBy }),
    ...(kept && kept.stoppedAtMs !== null && { stoppedAt: localTimestamp(kept.stoppedAtMs) }),
    ...(rules && rulesOf(rules)),
    groups: (rules?.groups ?? []).map(({ labels }, place) => ({
      labels: [...labels],
      agents: countsOf(members.filter(({ group }) => group === place)),
    })),
    agents: members.map(presentedAgent),
  };
}

function rulesOf({ canaries, atOnce, hours }: RolloutRules) {
  return {
    ...{ canaries, atOnce },
    ...(hours && { hours: { from: timeOfDay(hours.from), to: timeOfDay(hours.to) } }),
  };
}

function timeOfDay(minute: number): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

function countsOf(members: readonly RolloutMember[]): Partial<Record<RolloutMember['progress'], number>> {
  const counts: Partial<Record<RolloutMember['progress'], number>> = {};
  for (const { progress } of members) counts[progress] = (counts[progress] ?? 0) + 1;
  return counts;
}

function presentedAgent({ agentId, group, progress, running, reason, log, changedAtMs }: RolloutMember) {
  return {
    id: agentId,
    ...{ group: group + 1, progress },
    ...(running !== null && { running }),
    ...(reason !== null && { reason }),
    ...(log !== null && { log }),
    changedAt: localTimestamp(changedAtMs),
  };
}
