/** Defects in scheduling, in the link and in agents. */
import { Readable } from 'node:stream';
import type { Breakage } from './breakage.js';
import { blamingPrograms, broken, drainOf } from './wrappers.js';

export const AGENT_BREAKAGES: readonly Breakage[] = [
  {
    name: 'a starting hub does not load the waiting tasks',
    seed: 1,
    hub: ({ queue }) => ({
      queue: { ...queue, waitingGroups: () => Promise.resolve({ groups: [], nextAfterGroupId: null }) },
    }),
  },
  {
    name: 'the newest task is dispatched first',
    seed: 3,
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        heads: async (groups) => {
          const all = await queue.heads(groups.map((group) => ({ ...group, limit: 1000 })));
          return groups.flatMap(({ groupId, limit }) =>
            all.filter((head) => head.groupId === groupId).slice(-limit),
          );
        },
      },
    }),
  },
  {
    name: 'a new task of higher priority is put behind others',
    seed: 3,
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        insert: (tasks, waits) =>
          queue.insert(tasks, (waiting) => waits?.(waiting.map((task) => ({ ...task, priorityRank: 9 })))),
      },
    }),
  },
  {
    name: 'a restarted hub forgets which agents are drained',
    seed: 13,
    hub: ({ agentDrains }) => {
      const known = new Set<string>();
      return {
        agentDrains: {
          ...agentDrains,
          drain: (drain) => {
            known.add(drain.agentId);
            return agentDrains.drain(drain);
          },
          all: async () => (await agentDrains.all()).filter(({ agentId }) => known.has(agentId)),
        },
      };
    },
  },
  {
    name: 'an instance is released without a report',
    seed: 1,
    agents: (agents) => ({
      ...agents,
      reported: async (_, connection, { taskId, attempt, instanceId }) =>
        connection.acknowledge({ taskId, attempt, instanceId }, true),
    }),
  },
  {
    name: 'the running attempts of an agent are ignored when it rejoins',
    seed: 1,
    agents: (agents) => ({
      ...agents,
      join: (introduction, connection) => agents.join({ ...introduction, running: [] }, connection),
    }),
  },
  {
    name: 'a blob is acknowledged and not kept',
    seed: 13,
    hub: ({ files }) => {
      const lost = new Set<string>();
      return {
        files: broken(files, {
          find: async (wanted) => {
            const digest = typeof wanted === 'string' ? wanted : wanted.digest;
            lost.add(digest);
            return { sizeBytes: 0, isEncrypted: false, open: () => Readable.from([]) };
          },
        }),
      };
    },
  },
  {
    name: 'a spooled report does not survive a restart of the agent',
    seed: 1,
    agent: ({ spool }) => ({ spool: { ...spool, leftOver: [], put: () => Promise.resolve() } }),
  },
  {
    name: 'an agent joins without naming its running attempts',
    seed: 1,
    agent: ({ hub }) => ({
      hub: {
        ...hub,
        join: (address, listener, signal) =>
          hub.join(
            address,
            { ...listener, introduce: () => ({ ...listener.introduce(), running: [], spooled: [] }) },
            signal,
          ),
      },
    }),
  },
  {
    name: 'a crash of a common process is blamed on each of its tasks',
    seed: 30,
    agent: ({ programs }) => ({ programs: blamingPrograms(programs) }),
  },
  { name: 'a stopping agent returns its tasks too early', seed: 38, agent: drainOf(1) },
  { name: 'a stopping agent waits for its tasks forever', seed: 30, agent: drainOf(1e12) },
  {
    name: 'a task ends without naming its files in the output storage',
    seed: 1,
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        end: (ended, ...freed) =>
          queue.end(
            ended.map((end) => ({ ...end, storedFiles: [] })),
            ...freed,
          ),
      },
    }),
  },
];
