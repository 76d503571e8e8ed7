/** Instances with their agents, and what runs on them. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { type AgentState, api, type TaskItem, type WorkbenchInstance } from '@workbench-hub/client';
import { useEffect } from 'react';
import { allPages } from '../../data/all-pages.js';
import { hub } from '../../data/hub.js';
import { liveEvents } from '../../data/live-cache.js';
import { askAgain } from '../../data/query-client.js';

const EVERY_MS = 1000;
const MAX_RUNNING = 2000;

export const INSTANCES_KEY = ['instances'];

export interface Hosts {
  readonly instances: readonly WorkbenchInstance[];
  readonly agents: readonly AgentState[];
}

/** All instances and agents; asked for each second, since the stream tells of tasks only. */
export function useHosts(): UseQueryResult<Hosts> {
  return useQuery({
    queryKey: INSTANCES_KEY,
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) => {
      const [instances, agents] = await Promise.all([
        hub.instances(signal),
        allPages((query) => api.listAgentStates({ client: hub.client, query, signal, throwOnError: true })),
      ]);
      return { instances, agents };
    },
  });
}

/** The agent of an instance; undefined for the hub's own machine, and until it is known. */
export function useAgentOf({ agentId }: WorkbenchInstance): AgentState | undefined {
  const id = agentId ?? '';
  return useQuery({
    queryKey: [...INSTANCES_KEY, 'agent', id],
    refetchInterval: EVERY_MS,
    enabled: id !== '',
    queryFn: async ({ signal }) =>
      (await api.getAgentState({ client: hub.client, path: { id }, signal, throwOnError: true })).data,
  }).data;
}

/** Running tasks by the id of their instance. */
export function useRunning(): ReadonlyMap<string, TaskItem> {
  const { data } = useQuery({
    queryKey: [...INSTANCES_KEY, 'running'],
    queryFn: ({ signal }) => hub.window({ status: ['RUNNING'] }, { limit: MAX_RUNNING }, signal),
    select: byInstance,
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = liveEvents.onEvents(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void askAgain({ queryKey: INSTANCES_KEY });
      }, EVERY_MS / 2);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  return data ?? NOTHING;
}

const NOTHING: ReadonlyMap<string, TaskItem> = new Map();

function byInstance({ tasks }: { readonly tasks: readonly TaskItem[] }): ReadonlyMap<string, TaskItem> {
  return new Map(tasks.flatMap((task) => (task.instance ? [[task.instance.id, task] as const] : [])));
}
