/** Data of the overview, asked for repeatedly while it is open. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { type AgentState, api, type TaskItem, type WorkbenchInstance } from '@workbench-hub/client';
import { useEffect, useMemo } from 'react';
import { nowMs } from '../../base/clock.js';
import { groupBy } from '../../base/group-by.js';
import { useSteadyError } from '../../base/use-steady-error.js';
import { hub } from '../../data/hub.js';
import { liveEvents } from '../../data/live-cache.js';
import { askAgain } from '../../data/query-client.js';
import { reasonOf } from '../../data/task-rows.js';
import { useHosts as useInstances } from '../instances/use-instances.js';
import { periodsWith, RANGES, type Range } from './periods.js';
import { stuckTasks } from './stuck.js';

/** Beginning of the keys of what changes with each task. */
const BY_TASKS_KEY = ['overview', 'by-tasks'];
/** Shortest time between two requests that changes of tasks cause. */
const BY_TASKS_EVERY_MS = 1000;
const STATISTICS_EVERY_MS = 60_000;
/** Number of tasks up to which they are asked for each second, also since reasons change without an event. */
const FEW_STUCK = 100;
const FEW_STUCK_EVERY_MS = 1000;
const MANY_STUCK_EVERY_MS = 10_000;

const PRIORITIES = ['HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'] as const;
type Priority = (typeof PRIORITIES)[number];

export interface Queue {
  readonly counts: Readonly<Record<TaskItem['status'], number>>;
  readonly waiting: readonly { readonly priority: Priority; readonly count: number }[];
}

/** Asks anew for what changes with each task, at most once a second. */
export function useChangesOfTasks(): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = liveEvents.onEvents(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void askAgain({ queryKey: BY_TASKS_KEY });
      }, BY_TASKS_EVERY_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
}

/** Numbers of tasks by status, and of waiting ones by priority. */
export function useQueue(): UseQueryResult<Queue> {
  return useQuery({
    queryKey: [...BY_TASKS_KEY, 'queue'],
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
  });
}

export interface Host {
  /** Null for the hub's own machine. */
  readonly id: string | null;
  readonly isUp: boolean;
  readonly isDrained: boolean;
  readonly instances: readonly WorkbenchInstance[];
}

/** Hosts with their instances; those with a trouble first. */
export function useHosts() {
  const query = useInstances();
  const { data, refetch } = query;
  const error = useSteadyError(query);
  const hosts = useMemo(() => data && hostsOf(data.instances, data.agents), [data]);
  return { data: hosts, error, refetch };
}

function hostsOf(instances: readonly WorkbenchInstance[], agents: readonly AgentState[]): readonly Host[] {
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

export interface Stuck {
  /** Number of all tasks that have waited for long. */
  readonly total: number;
  /** Number of those that are in the groups. */
  readonly seen: number;
  /** The most frequent reason first. */
  readonly groups: readonly StuckGroup[];
}

/** Tasks that have waited for long, by the reason. */
export function useStuck(): UseQueryResult<Stuck> {
  return useQuery({
    queryKey: ['overview', 'stuck'],
    queryFn: async ({ signal }) => {
      const ask = (beforeMs: number, limit: number) =>
        hub.window({ status: ['WAITING'], to: new Date(beforeMs).toISOString() }, { limit }, signal);
      const { total, tasks } = await stuckTasks(ask, nowMs());
      const groups = groupBy(tasks, ({ message = '' }) => reasonOf(message));
      return {
        total,
        seen: tasks.length,
        groups: [...groups]
          .map(([reason, members]) => ({ reason, tasks: members }))
          .sort((a, b) => b.tasks.length - a.tasks.length),
      };
    },
    refetchInterval: ({ state: { data } }) =>
      (data?.total ?? 0) > FEW_STUCK ? MANY_STUCK_EVERY_MS : FEW_STUCK_EVERY_MS,
  });
}

export interface Statistics {
  readonly data: readonly api.StatisticsPeriod[] | undefined;
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

/** Statistics of this range: all of it once a minute, and the latest period as tasks change. */
export function useStatistics(range: Range): Statistics {
  const { lengthMs, step, stepsPerPeriod } = RANGES[range];
  const ask = async (from: string, signal: AbortSignal) => {
    const query = { step, stepsPerPeriod, from };
    const { data } = await api.getStatistics({ client: hub.client, query, signal, throwOnError: true });
    return data.periods;
  };
  const query = useQuery({
    queryKey: ['overview', 'statistics', range],
    queryFn: ({ signal }) => ask(new Date(nowMs() - lengthMs).toISOString(), signal),
    refetchInterval: STATISTICS_EVERY_MS,
    placeholderData: (before) => before,
  });
  const { data: periods, isPlaceholderData, refetch } = query;
  const error = useSteadyError(query);
  // The hub adds up what is in a period, since percentiles cannot be added here.
  const lastStart = isPlaceholderData ? undefined : periods?.at(-1)?.start;
  const { data: latest } = useQuery({
    queryKey: [...BY_TASKS_KEY, 'statistics', range, lastStart],
    queryFn: ({ signal }) => ask(lastStart ?? '', signal),
    enabled: lastStart !== undefined,
  });
  const data = useMemo(() => periods && periodsWith(periods, latest ?? []), [periods, latest]);
  return { data, error, refetch };
}
