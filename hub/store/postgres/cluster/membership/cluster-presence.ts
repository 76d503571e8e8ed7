/** Presence for several hubs: rows of agents and their instances, which decide who may join. */
import type {
  InstanceProfile,
  InstanceStatus,
  JobKind,
  LentState,
} from '@workbench-hub/shared/domain/instance';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { LentHostEnd } from '../../../../core/hosts/lent-host.js';
import type { JoinRefusal } from '../../../../core/ports/agents.js';
import type {
  Joined,
  JoiningAgent,
  Presence,
  PresentAgent,
  PresentInstance,
  StartedInstance,
} from '../../../../core/ports/presence.js';
import { installationOfText } from '../../../rows/agent-row.js';
import type { Database } from '../../connection/pool.js';
import { rowOf, rowsOf } from '../../connection/statement.js';
import type { AgentHolders, HolderRow } from '../common/agent-holders.js';
import type { StatementRetries } from '../common/statement-retries.js';
import { AgentJoins } from './agent-joins.js';
import type { HubSelf } from './hub-rows.js';
import { InstanceChanges } from './instance-changes.js';
import {
  type AgentRow,
  ALL_AGENTS,
  DISCONNECT_LOST,
  FORGET,
  HOLDERS,
  HOLDS,
  LEAVE,
  type LeaveRow,
  type LostRow,
  type PresentInstanceRow,
} from './presence-statements.js';

export interface ClusterPresenceOptions {
  readonly self: HubSelf;
  readonly database: Database;
  readonly retries: StatementRetries;
  readonly holders: AgentHolders;
  /** Without renewal, after which a hub is gone. */
  readonly lapseMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

export class ClusterPresence implements Presence {
  readonly #options: ClusterPresenceOptions;
  readonly #changes: InstanceChanges;
  readonly #joins: AgentJoins;
  readonly #self: { readonly hubId: string; readonly incarnation: string };

  constructor(options: ClusterPresenceOptions) {
    this.#options = options;
    const { hubId, incarnation } = options.self;
    this.#self = { hubId, incarnation };
    this.#joins = new AgentJoins(options);
    this.#changes = new InstanceChanges({ ...options, ...this.#self });
  }

  async join(
    agent: JoiningAgent,
    isWanted: () => boolean = () => true,
  ): Promise<Joined | JoinRefusal | undefined> {
    const { holders } = this.#options;
    const end = holders.changing(agent.id);
    try {
      const joined = await this.#joins.join(agent, isWanted);
      if (joined !== undefined && 'epoch' in joined) holders.joined(agent.id, this.#self.hubId, joined.epoch);
      return joined;
    } finally {
      end();
    }
  }

  changed(agentId: string, epoch: number, report: StartedInstance): void {
    this.#changes.add(agentId, epoch, report);
  }

  async leave(agentId: string, epoch: number, atMs: number): Promise<boolean> {
    const { holders } = this.#options;
    holders.left(agentId, epoch);
    const end = holders.changing(agentId);
    try {
      return await this.#leave(agentId, epoch, atMs);
    } finally {
      end();
    }
  }

  async holds(agentId: string, epoch: number): Promise<boolean> {
    const { retries, database } = this.#options;
    const values = { hubId: this.#self.hubId, agentId, epoch };
    const row = await retries.run(() =>
      rowOf<{ holds: boolean }, keyof typeof values>(database, HOLDS, values),
    );
    return row?.holds === true;
  }

  async all(): Promise<PresentAgent[]> {
    const { retries, database, lapseMs } = this.#options;
    await this.#changes.written();
    const values = { hubId: this.#self.hubId, lapseMs };
    const rows = await retries.run(() => rowsOf<AgentRow, keyof typeof values>(database, ALL_AGENTS, values));
    const held = new Set(rows.flatMap(({ instances }) => (instances ?? []).map(([id]) => id)));
    return rows.map((row) => agentOf(row, held)).sort(byId);
  }

  async forget(agentId: string): Promise<boolean> {
    const { retries, database, lapseMs } = this.#options;
    const values = { hubId: this.#self.hubId, lapseMs, agentId };
    const row = await retries.run(() =>
      rowOf<{ is_connected: boolean }, keyof typeof values>(database, FORGET, values),
    );
    return row?.is_connected === false;
  }

  /** Reads who holds which agent, and disconnects agents that have left this hub while that could not be written. Resolves with the
   *  agents whose connections to this hub no longer count. Rejects with `DatabaseFault`. */
  async readHolders(): Promise<readonly string[]> {
    const { database, holders, lapseMs } = this.#options;
    const take = holders.reading();
    const values = { hubId: this.#self.hubId, lapseMs };
    const { replaced, left } = take(await rowsOf<HolderRow, keyof typeof values>(database, HOLDERS, values));
    for (const { id, epoch } of left) await this.#leave(id, epoch, null);
    return replaced;
  }

  /** Disconnects the agents of other hubs that are gone, and tells which. Rejects with `DatabaseFault`. */
  async disconnectLost(): Promise<readonly LostRow[]> {
    const { database, lapseMs } = this.#options;
    const values = { hubId: this.#self.hubId, lapseMs };
    return rowsOf<LostRow, keyof typeof values>(database, DISCONNECT_LOST, values);
  }

  /** Writes what waits. */
  close(): Promise<void> {
    return this.#changes.close();
  }

  /** Without a time, the agent keeps that at which it was seen last. */
  async #leave(agentId: string, epoch: number, atMs: number | null): Promise<boolean> {
    const { retries, database } = this.#options;
    const values = { ...this.#self, agentId, epoch, seenAt: atMs };
    const leave = () => rowOf<LeaveRow, keyof typeof values>(database, LEAVE, values);
    return retries.run(async (isRepeat) => {
      const row = await leave();
      if (row?.has_left === true || !isRepeat) return row?.has_left === true;
      // The first run may have ended while this one waited for it.
      return row?.had_left === true || (await leave())?.had_left === true;
    });
  }
}

/** `held`: instances of connected agents. */
function agentOf(row: AgentRow, held: ReadonlySet<string>): PresentAgent {
  const { id, version, revision, is_connected: isConnected } = row;
  const instances = isConnected
    ? (row.instances ?? []).map(instanceOf)
    : (JSON.parse(row.profiles) as InstanceProfile[])
        .filter((profile) => !held.has(profile.id))
        .map((profile) => ({ profile, status: 'UNKNOWN' as const, startedAtMs: null }));
  return {
    id,
    version,
    revision,
    seenAtMs: row.seen_at,
    clockOffsetMs: row.clock_offset_ms,
    installation: installationOfText(row.installation),
    address: isConnected ? row.address : null,
    hub: isConnected && row.hub !== null ? (JSON.parse(row.hub) as JoinedHub) : undefined,
    isConnected,
    instances: instances.sort((a, b) => byId(a.profile, b.profile)),
  };
}

function instanceOf([
  id,
  version,
  revision,
  labels,
  status,
  startedAtMs,
  runs,
  lent,
  lentHost,
]: PresentInstanceRow): PresentInstance {
  const profile = {
    id,
    version,
    revision,
    labels: JSON.parse(labels) as string[],
    runs: runs === null ? undefined : (JSON.parse(runs) as JobKind),
  };
  return {
    profile,
    status: status as InstanceStatus,
    startedAtMs,
    lent: lent === null ? undefined : (lent as LentState),
    lentHost: lentHost === null ? undefined : (JSON.parse(lentHost) as LentHostEnd),
  };
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
