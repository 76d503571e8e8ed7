/** Data of the overview, asked for repeatedly while it is open. */
import { useQuery } from '@tanstack/react-query';
import { api, type TaskItem, type WorkbenchInstance } from '@workbench-hub/client';
import { useEffect } from 'react';
import { nowMs } from '../../data/clock.js';
import { groupBy } from '../../data/group-by.js';
import { hub } from '../../data/hub.js';
import { queryClient } from '../../data/query-client.js';
import { reasonOf } from '../../data/task-rows.js';
import { liveEvents } from '../../live/live-cache.js';
import { bucketsOf, RANGES, type Range } from './periods.js';

const QUEUE_KEY = ['overview', 'queue'];
/** Shortest time between two requests that changes of tasks cause. */
const QUEUE_EVERY_MS = 1000;
const HOSTS_EVERY_MS = 3000;
const STATISTICS_EVERY_MS = 15_000;
const STUCK_EVERY_MS = 10_000;
/** A task that waits for longer is asked about. */
const STUCK_AFTER_MS = 60_000;
const STUCK_LIMIT = 500;
const PAGE_SIZE = 500;

const PRIORITIES = ['HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'] as const;
type Priority = (typeof PRIORITIES)[number];

export interface Queue {
  readonly counts: Readonly<Record<TaskItem['status'], number>>;
  readonly waiting: readonly { readonly priority: Priority; readonly count: number }[];
}

/** Numbers of tasks by status, and of waiting ones by priority. */
export function useQueue(): Queue | undefined {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = liveEvents.onEvents(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queryClient.invalidateQueries({ queryKey: QUEUE_KEY });
      }, QUEUE_EVERY_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return useQuery({
    queryKey: QUEUE_KEY,
    queryFn: async ({ signal }) => {
      const place = { limit: 1 };
      const [all, ...waiting] = await Promise.all([
        hub.window({}, place, signal),
        ...PRIORITIES.map(async (priority) => {
          const { total } = await hub.window({ status: ['WAITING'], priority }, place, signal);
          return { priority, count: total };
        }),
      ]);
      return { counts: all.counts, waiting };
    },
  }).data;
}

export interface Host {
  /** Null for the hub's own machine. */
  readonly id: string | null;
  readonly isUp: boolean;
  readonly isDrained: boolean;
  readonly instances: readonly WorkbenchInstance[];
}

/** Hosts with their instances; those with a trouble first. */
export function useHosts(): readonly Host[] | undefined {
  const { data } = useQuery({
    queryKey: ['overview', 'hosts'],
    queryFn: async ({ signal }) => {
      const query = { size: PAGE_SIZE };
      const [instances, { data: agents }] = await Promise.all([
        hub.instances(signal),
        api.listAgentStates({ client: hub.client, query, signal, throwOnError: true }),
      ]);
      return hostsOf(instances, agents.content);
    },
    refetchInterval: HOSTS_EVERY_MS,
  });
  return data;
}

function hostsOf(
  instances: readonly WorkbenchInstance[],
  agents: readonly api.AgentState[],
): readonly Host[] {
  const byHost = groupBy(instances, ({ agentId }) => agentId ?? null);
  const own = byHost.get(null);
  const hosts: Host[] = [
    ...(own ? [{ id: null, isUp: true, isDrained: false, instances: own }] : []),
    ...agents.map(({ id, status, drained }) => ({
      id,
      isUp: status === 'UP',
      isDrained: drained,
      instances: byHost.get(id) ?? [],
    })),
  ];
  return hosts.toSorted((a, b) => Number(isWell(a)) - Number(isWell(b)));
}

/** Whether nothing about the host asks for somebody to look. */
export function isWell({ isUp, isDrained, instances }: Host): boolean {
  return isUp && !isDrained && instances.every(({ status }) => status === 'UP' || status === 'STARTING');
}

export interface StuckGroup {
  /** The hub's words, the same for all of its tasks. */
  readonly reason: string;
  readonly tasks: readonly TaskItem[];
}

/** Tasks that have waited for long, by the reason; the most frequent first. */
export function useStuck(): readonly StuckGroup[] | undefined {
  return useQuery({
    queryKey: ['overview', 'stuck'],
    queryFn: async ({ signal }) => {
      const to = new Date(nowMs() - STUCK_AFTER_MS).toISOString();
      const { tasks } = await hub.window({ status: ['WAITING'], to }, { limit: STUCK_LIMIT }, signal);
      const groups = groupBy(tasks, ({ message = '' }) => reasonOf(message));
      return [...groups]
        .map(([reason, members]) => ({ reason, tasks: members }))
        .sort((a, b) => b.tasks.length - a.tasks.length);
    },
    refetchInterval: STUCK_EVERY_MS,
  }).data;
}

/** Buckets of the statistics of this range. */
export function useStatistics(range: Range) {
  const { lengthMs, step, bucketMs } = RANGES[range];
  return useQuery({
    queryKey: ['overview', 'statistics', range],
    queryFn: async ({ signal }) => {
      const query = { step, from: new Date(nowMs() - lengthMs).toISOString() };
      const { data } = await api.getStatistics({ client: hub.client, query, signal, throwOnError: true });
      return bucketsOf(data.periods, bucketMs);
    },
    refetchInterval: STATISTICS_EVERY_MS,
    placeholderData: (before) => before,
  }).data;
}
