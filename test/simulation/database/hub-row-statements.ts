/** Statements on the rows of hubs, on the scheduler's role and on preparations, performed on the model. */

import * as SQL from '@workbench-hub/hub/store/postgres/cluster/common/hub-statements';
import { GAIN, GIVE_UP } from '@workbench-hub/hub/store/postgres/cluster/leadership/scheduler-role';
import { RENEW } from '@workbench-hub/hub/store/postgres/cluster/leadership/scheduler-term';
import {
  CHANGE_CLUSTER,
  CHANGE_HUB,
  READ_PREPARATIONS,
} from '@workbench-hub/hub/store/postgres/cluster/membership/cluster-preparations';
import { NOW } from '@workbench-hub/hub/store/postgres/connection/database-clock';
import {
  type ClusterStatement,
  type ClusterTables,
  fenceOf,
  isLive,
  modelOf,
  removeWhere,
  type Self,
} from './cluster-tables.js';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const HUBS: readonly [string, ClusterStatement][] = [
  modelOf<Self>(SQL.LOCK_HUB, 'READ', ({ hubId }, { tables }) => {
    const row = tables.hubs.get(hubId);
    return row ? [{ incarnation: row.incarnation }] : [];
  }),
  modelOf<Self & { version: string; address: string; restartMs: number }>(
    SQL.REGISTER,
    'DURABLE',
    ({ hubId, incarnation, version, address, restartMs }, { tables, nowMs }) => {
      const former = tables.hubs.get(hubId);
      const isSame = former?.incarnation === incarnation;
      if (former && !isSame && former.seenAtMs >= nowMs - restartMs) return [];
      tables.hubs.set(hubId, {
        id: hubId,
        incarnation,
        version,
        address,
        startedAtMs: isSame ? former.startedAtMs : nowMs,
        seenAtMs: nowMs,
        clockOffsetMs: former?.clockOffsetMs ?? null,
        preparedAtMs: isSame ? former.preparedAtMs : null,
      });
      return [{ id: hubId }];
    },
  ),
  modelOf<Self & { address: string }>(SQL.SET_ADDRESS, 'DURABLE', ({ address, ...self }, { tables }) => {
    const row = fenceOf(tables, self);
    if (row) row.address = address;
    return [];
  }),
  modelOf<Self>(SQL.DISCONNECT_AGENTS, 'DURABLE', ({ hubId }, { tables }) => {
    for (const agent of tables.agents.values()) {
      if (agent.hubId !== hubId) continue;
      agent.hubId = agent.address = null;
      removeWhere(tables.instances, ({ agentId }) => agentId === agent.id);
    }
    return [];
  }),
  modelOf<Self>(SQL.REMOVE_HUB, 'DURABLE', ({ hubId }, { tables }) => {
    tables.hubs.delete(hubId);
    return [];
  }),
  modelOf<Self & { offsetMs: number | null; lapseMs: number }>(
    SQL.HEARTBEAT,
    'RELAXED',
    ({ offsetMs, lapseMs, ...self }, { tables, nowMs }) => {
      const { hubs, mail } = tables;
      // The query sees the rows as they were before the renewal.
      const hasRequests = [...mail.values()].some(
        ({ toHub, reply }) => toHub === self.hubId && reply === null,
      );
      const own = fenceOf(tables, self);
      const rows = [...hubs.values()].map((row) => ({
        id: row.id,
        incarnation: row.incarnation,
        address: row.address,
        is_live: isLive(row, lapseMs, nowMs),
        has_heartbeat: own !== undefined,
        has_requests: hasRequests,
        now_ms: nowMs,
        newest: 1,
        contracted: 0,
      }));
      if (own) {
        own.seenAtMs = nowMs;
        own.clockOffsetMs = offsetMs ?? own.clockOffsetMs;
      }
      return rows;
    },
  ),
  modelOf<Self>(SQL.SWEEP, 'DURABLE', ({ hubId }, { tables, nowMs }) => {
    const { hubs, agents, mail, texts } = tables;
    const holders = new Set([...agents.values()].map((agent) => agent.hubId));
    removeWhere(hubs, ({ id, seenAtMs }) => id !== hubId && seenAtMs < nowMs - DAY_MS && !holders.has(id));
    removeWhere(mail, ({ askedAtMs }) => askedAtMs < nowMs - MINUTE_MS);
    removeWhere(texts, ({ toldAtMs }) => toldAtMs < nowMs - MINUTE_MS);
    return [];
  }),
  modelOf<{ lapseMs: number }>(SQL.ALL_HUBS, 'READ', ({ lapseMs }, { tables, nowMs, running }) => {
    const { hubs, agents, role } = tables;
    const tasks = running();
    return [...hubs.values()]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((hub) => {
        const own = [...agents.values()].filter(({ hubId }) => hubId === hub.id).map(({ id }) => id);
        const isScheduler =
          role.holder === hub.id && role.incarnation === hub.incarnation && (role.untilMs ?? 0) > nowMs;
        return {
          id: hub.id,
          version: hub.version,
          address: hub.address,
          started_at_ms: hub.startedAtMs,
          seen_at_ms: hub.seenAtMs,
          is_live: isLive(hub, lapseMs, nowMs),
          clock_offset_ms: hub.clockOffsetMs,
          prepared_at: hub.preparedAtMs,
          term: isScheduler ? role.term : null,
          agents: own.length,
          running: tasks.filter(({ agentId }) => own.includes(agentId)).length,
        };
      });
  }),
];

/** Defects of the role, which breakages put into it. */
export interface RoleDefects {
  /** A hub gains the role whoever has it. */
  readonly ignoresHolder?: boolean;
}

function roleStatements({ ignoresHolder = false }: RoleDefects): readonly [string, ClusterStatement][] {
  return [
    modelOf<Self & { roleMs: number }>(GAIN, 'DURABLE', ({ roleMs, ...self }, { tables, nowMs }) => {
      const { role } = tables;
      const isFree =
        role.holder === null ||
        role.holder === self.hubId ||
        (role.untilMs !== null && (role.untilMs < nowMs || role.untilMs > nowMs + 2 * roleMs)) ||
        ignoresHolder;
      if (!isFree || !fenceOf(tables, self)) return [];
      role.term++;
      role.holder = self.hubId;
      role.incarnation = self.incarnation;
      role.untilMs = nowMs + roleMs;
      return [{ term: role.term }];
    }),
    modelOf<{ term: number; incarnation: string }>(
      GIVE_UP,
      'DURABLE',
      ({ term, incarnation }, { tables: { role } }) => {
        if (role.term !== term || role.incarnation !== incarnation) return [];
        role.holder = role.untilMs = null;
        return [{ term }];
      },
    ),
    modelOf<{ term: number; incarnation: string; roleMs: number }>(
      RENEW,
      'RELAXED',
      ({ term, incarnation, roleMs }, { tables: { role }, nowMs }) => {
        if (role.term !== term || role.incarnation !== incarnation) return [];
        role.untilMs = nowMs + roleMs;
        return [{ term }];
      },
    ),
  ];
}

const preparationsOf = (tables: ClusterTables, self: Self) => ({
  HUB: fenceOf(tables, self)?.preparedAtMs ?? null,
  CLUSTER: tables.preparation.atMs,
});

const PREPARATIONS: readonly [string, ClusterStatement][] = [
  modelOf<Self>(READ_PREPARATIONS, 'READ', (self, { tables }) => [preparationsOf(tables, self)]),
  modelOf<Self & { atMs: number | null }>(CHANGE_HUB, 'DURABLE', ({ atMs, ...self }, { tables }) => {
    const row = fenceOf(tables, self);
    if (!row) return [];
    row.preparedAtMs = atMs === null ? null : (row.preparedAtMs ?? atMs);
    return [preparationsOf(tables, self)];
  }),
  modelOf<Self & { atMs: number | null }>(CHANGE_CLUSTER, 'DURABLE', ({ atMs, ...self }, { tables }) => {
    const { preparation } = tables;
    preparation.atMs = atMs === null ? null : (preparation.atMs ?? atMs);
    return [preparationsOf(tables, self)];
  }),
];

export function hubRowStatements(defects: RoleDefects): readonly [string, ClusterStatement][] {
  return [
    ...HUBS,
    ...roleStatements(defects),
    ...PREPARATIONS,
    modelOf(NOW, 'READ', (_, { nowMs }) => [{ now_ms: nowMs }]),
  ];
}
