/** Joins of agents at this hub: those that wait share a transaction, and take turns with the joins at other hubs. */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { HubError } from '../../../../core/errors.js';
import type { JoinRefusal } from '../../../../core/ports/agents.js';
import { type Joined, type JoiningAgent, joinOutdated } from '../../../../core/ports/presence.js';
import { installationText } from '../../../rows/agent-row.js';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Database } from '../../connection/pool.js';
import { rowOf, rowsOf } from '../../connection/statement.js';
import type { StatementRetries } from '../common/statement-retries.js';
import type { HubSelf } from './hub-rows.js';
import { JOIN, type JoinRow, LOCK_JOINS, lentHostText, runsText } from './presence-statements.js';

/** Joins of one transaction: others wait for it. */
const MAX_AT_ONCE = 20;

export interface AgentJoinsOptions {
  readonly self: HubSelf;
  readonly database: Database;
  readonly retries: StatementRetries;
  /** Without renewal, after which a hub is gone. */
  readonly lapseMs: number;
}

interface Waiting {
  readonly agent: JoiningAgent;
  isWanted(): boolean;
  resolve(joined: Joined | JoinRefusal | undefined): void;
  reject(error: unknown): void;
}

export class AgentJoins {
  readonly #options: AgentJoinsOptions;
  readonly #waiting: Waiting[] = [];
  #isWorking = false;

  constructor(options: AgentJoinsOptions) {
    this.#options = options;
  }

  /** Rejects with HubError `STORE_UNAVAILABLE`. Resolves with undefined for an agent that has given up before it was its turn: joins
   *  that nobody waits for any more would make those behind them give up, too. */
  join(agent: JoiningAgent, isWanted: () => boolean): Promise<Joined | JoinRefusal | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ agent, isWanted, resolve, reject });
      if (!this.#isWorking) void this.#joinAll();
    });
  }

  async #joinAll(): Promise<void> {
    this.#isWorking = true;
    for (let joins = this.#next(); joins.length > 0; joins = this.#next()) await this.#joinSome(joins);
    this.#isWorking = false;
  }

  #next(): Waiting[] {
    const joins: Waiting[] = [];
    while (joins.length < MAX_AT_ONCE) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      if (waiting.isWanted()) joins.push(waiting);
      else waiting.resolve(undefined);
    }
    return joins;
  }

  async #joinSome(joins: readonly Waiting[]): Promise<void> {
    const { retries } = this.#options;
    try {
      const joined = await retries.run(() => this.#write(joins.map(({ agent }) => agent)));
      for (const [at, { resolve }] of joins.entries()) resolve(joined[at] as Joined | JoinRefusal);
    } catch (error) {
      const { cause } = error as Error;
      // One that the server refuses must not fail the others.
      if (joins.length > 1 && cause instanceof DatabaseFault && cause.kind === 'REFUSED')
        for (const join of joins) await this.#joinSome([join]);
      else for (const { reject } of joins) reject(error);
    }
  }

  #write(agents: readonly JoiningAgent[]): Promise<(Joined | JoinRefusal)[]> {
    const { self, database, lapseMs } = this.#options;
    const { hubId, incarnation } = self;
    return database.transaction(async (queries) => {
      await rowsOf(queries, LOCK_JOINS, {});
      const joined: (Joined | JoinRefusal)[] = [];
      for (const agent of agents) {
        const values = { hubId, incarnation, lapseMs, ...valuesOf(agent) };
        joined.push(joinedOf(agent, await rowOf<JoinRow, keyof typeof values>(queries, JOIN, values)));
      }
      return joined;
    });
  }
}

function joinedOf({ id }: JoiningAgent, row: JoinRow | undefined): Joined | JoinRefusal {
  if (!row?.is_fenced) {
    const what = 'this hub has been replaced by another start of it, and the agent has not joined';
    throw new HubError('STORE_UNAVAILABLE', what);
  }
  if (row.is_id_taken) {
    return {
      code: 'AGENT_ID_TAKEN',
      message: `an agent with the id ${id} is connected from elsewhere: give one of them another "id"`,
    };
  }
  if (row.later_join !== null) return joinOutdated(id, row.later_join);
  if (!row.taken) return { epoch: row.epoch as number };
  const [instanceId, holder] = row.taken;
  return {
    code: 'INSTANCE_ID_TAKEN',
    message: `the instance id ${instanceId} is in use by the connected agent ${holder}: ids are unique in the cluster`,
  };
}

function valuesOf(agent: JoiningAgent) {
  const instances = [...new Map(agent.instances.map((report) => [report.id, report])).values()];
  return {
    agentId: agent.id,
    nodeId: agent.nodeId,
    joinNumber: agent.joinNumber,
    version: agent.version,
    revision: agent.revision,
    address: agent.address,
    seenAt: agent.seenAtMs,
    clockOffsetMs: agent.clockOffsetMs,
    hub: agent.hub ? JSON.stringify(agent.hub) : null,
    installation: installationText(agent.installation),
    profiles: JSON.stringify(instances.map(profileOf)),
    instanceIds: instances.map(({ id }) => id),
    versions: instances.map(({ version }) => version),
    revisions: instances.map(({ revision }) => revision),
    labels: instances.map(({ labels }) => JSON.stringify(labels)),
    runs: instances.map(({ runs }) => runsText(runs)),
    statuses: instances.map(({ status }) => status),
    startedAts: instances.map(({ startedAtMs }) => startedAtMs),
    lents: instances.map(({ lent }) => lent ?? null),
    lentHosts: instances.map(({ lentHost }) => lentHostText(lentHost)),
  };
}

function profileOf({ id, version, revision, labels, runs }: InstanceProfile): InstanceProfile {
  return { id, version, revision, labels, runs };
}
