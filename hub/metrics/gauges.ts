/** Gauges that are measured when the metrics are requested. */
import { INSTANCE_STATUSES } from '@workbench-hub/shared/domain/instance';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { isOwnAgentId } from '../core/own-agent.js';
import type { Nodes } from '../core/ports/nodes.js';
import type { TaskPage, TaskQuery } from '../core/ports/task-archive.js';
import type { WaitingReceiver } from '../core/ports/webhook-deliveries.js';
import { STUDY_STATES } from '../core/studies/study.js';
import { originOf } from '../core/webhook-addresses.js';
import { AGENT_BUILD_LABELS, agentBuilds } from './agent-builds.js';
import type { HubMetrics } from './hub-metrics.js';

export interface Observable {
  readonly tasks: { list(query: TaskQuery): Promise<TaskPage> };
  readonly nodes: Nodes;
  /** Whether a shutdown is prepared, so that no new tasks are accepted. */
  readonly isShutdownPrepared: () => boolean;
  /** Space of the disk with the data of the hub. */
  readonly disk: () => Promise<{ readonly totalBytes: number; readonly freeBytes: number }>;
  /** Number of studies by state. */
  readonly studies: () => Promise<Readonly<Record<string, number>>>;
  /** Numbers of agents by the progress of the rollout there. */
  readonly rollout: () => Promise<Readonly<Record<string, number>>>;
  /** Receivers for which webhooks wait. */
  readonly waitingWebhooks: () => Promise<readonly WaitingReceiver[]>;
  /** Sizes by the name of their database. */
  readonly databaseBytes: () => Promise<Readonly<Record<string, number>>>;
}

export function observeHub(metrics: HubMetrics, hub: Observable): void {
  const { tasks, nodes } = hub;
  const count = async (query: Pick<TaskQuery, 'statuses' | 'priority'>) =>
    (await tasks.list({ page: 0, size: 1, ...query })).totalElements;
  metrics.observe('tasks_waiting', 'Waiting tasks, by priority.', 'priority', async () => {
    const waiting = PRIORITIES.map(async (priority) => [
      priority,
      await count({ statuses: ['WAITING'], priority }),
    ]);
    return Object.fromEntries(await Promise.all(waiting)) as Record<string, number>;
  });
  metrics.observe('tasks_running', 'Running tasks.', null, () => count({ statuses: ['RUNNING'] }));
  observeAgents(metrics, hub);
  metrics.observe('instances', 'Known workbench instances, by status.', 'status', async () =>
    countBy(
      INSTANCE_STATUSES,
      (await nodes.instances()).map(({ status }) => status),
    ),
  );
  metrics.observe(
    'instances_working',
    'Workbench instances that run a task.',
    null,
    async () => (await nodes.instances()).filter(({ working }) => working).length,
  );
  metrics.observe('locked', '1 while a shutdown is prepared and no new tasks are accepted.', null, () =>
    hub.isShutdownPrepared() ? 1 : 0,
  );
  metrics.observe('studies', 'Studies, by state.', 'state', async () => ({
    ...countBy(STUDY_STATES, []),
    ...(await hub.studies()),
  }));
  metrics.observe(
    'webhooks_waiting',
    'Webhooks that wait for their delivery, by receiver.',
    'receiver',
    async () => Object.fromEntries(originCounts(await hub.waitingWebhooks())),
  );
  metrics.observe(
    'disk_free_bytes',
    'Free space of the disk with dataDir.',
    null,
    async () => (await hub.disk()).freeBytes,
  );
  metrics.observe(
    'disk_size_bytes',
    'Size of the disk with dataDir.',
    null,
    async () => (await hub.disk()).totalBytes,
  );
  metrics.observe('database_bytes', 'Size of a database with its log.', 'database', hub.databaseBytes);
}

function observeAgents(metrics: HubMetrics, { nodes, rollout }: Observable): void {
  metrics.observe('agents', 'Known agents, by status.', 'status', async () =>
    countBy(
      ['UP', 'DOWN'],
      (await nodes.agents()).filter(({ id }) => !isOwnAgentId(id)).map(({ status }) => status),
    ),
  );
  metrics.observeAll(
    'agents_by_build',
    'Connected agents, by version, installation, operating system and architecture.',
    AGENT_BUILD_LABELS,
    async () => agentBuilds(await nodes.agents()),
  );
  metrics.observe(
    'agents_by_rollout',
    'Agents of the groups of the rollout, by its progress there.',
    'progress',
    rollout,
  );
  metrics.observe(
    'agents_drained',
    'Drained agents, known or not.',
    null,
    async () => (await nodes.drains()).length,
  );
  metrics.observe(
    'agent_clock_offset_seconds',
    'Offset of the clock of an agent from that of the hub when it joined.',
    'agent',
    async () =>
      Object.fromEntries(
        (await nodes.agents()).flatMap(({ id, clockOffsetMs }) =>
          clockOffsetMs === null ? [] : [[id, clockOffsetMs / 1000]],
        ),
      ),
  );
}

function countBy(values: readonly string[], found: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(values.map((value) => [value, 0]));
  for (const value of found) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Waiting webhooks by origin. */
function originCounts(waiting: readonly WaitingReceiver[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { receiver, deliveries } of waiting) {
    const origin = originOf(receiver);
    counts.set(origin, (counts.get(origin) ?? 0) + deliveries);
  }
  return counts;
}
