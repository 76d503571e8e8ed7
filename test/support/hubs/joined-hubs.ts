/** Engines of several hubs on one store, joined in memory: the test chooses who schedules, and which signals are lost. */
import type { Hubs, HubView } from '@workbench-hub/hub/core/ports/hubs';
import { AgentUnavailable, type Relay, type RelayReceiver } from '@workbench-hub/hub/core/ports/relay';
import type { RoleHolder, Roles } from '@workbench-hub/hub/core/ports/roles';
import type { ShutdownPreparations } from '@workbench-hub/hub/core/ports/shutdown-preparations';
import type { Signal, SignalListener, Signals } from '@workbench-hub/hub/core/ports/signals';
import type { Cluster } from '@workbench-hub/hub/core/ports/store';
import { ownPreparations } from '@workbench-hub/hub/store/sole-hub/own-preparations';
import { ownPresence } from '@workbench-hub/hub/store/sole-hub/own-presence';
import { ownSignals } from '@workbench-hub/hub/store/sole-hub/own-signals';
import { HandDrivenRuntime } from '../engine/hand-driven-runtime.js';
import {
  createEngineOver,
  type EngineBase,
  type EngineSetup,
  type EngineUnderTest,
  openEngineBase,
} from '../engine/running-engine.js';
import { temporaryFolder } from '../temporary-folder.js';

export interface JoinedHub extends EngineUnderTest {
  /** Lets this hub gain the role of the scheduler. */
  gain(term: number): Promise<void>;
  lose(): Promise<void>;
  /** Lets the other hubs notice that this one is gone. */
  leave(): Promise<void>;
  /** Tells this hub that signals may have been lost. */
  resync(): Promise<void>;
  /** Tells this hub that it has not reached the store for long. */
  cutOff(): Promise<void>;
}

export interface JoinedHubs {
  readonly hubs: readonly JoinedHub[];
  /** Kinds of signals that do not reach other hubs. */
  readonly lost: Set<Signal['kind']>;
  /** Holds back the signals to other hubs; returns what lets them arrive. */
  hold(): () => Promise<void>;
  close(): Promise<void>;
}

interface Member {
  readonly id: string;
  /** Hub that holds each connected agent, as this one has heard. */
  readonly holders: Map<string, Member>;
  readonly signals: Signals;
  readonly tellOwn: Signals['tell'];
  role?: RoleHolder;
  receiver: RelayReceiver;
}

export async function startHubs(count: number, setup: EngineSetup = {}): Promise<JoinedHubs> {
  const folder = await temporaryFolder();
  const base = await openEngineBase(folder.path, new HandDrivenRuntime());
  const wire = wireOf(base);
  const hubs: JoinedHub[] = [];
  for (let index = 0; index < count; index++) {
    const { cluster, member } = wire.add();
    const engine = await createEngineOver(base, cluster, setup);
    await engine.start();
    const settled = (act: unknown) => settledOn(base.runtime, act);
    hubs.push({
      ...base,
      ...engine,
      gain: (term) => settled(member.role?.gained(term)),
      lose: () => settled(member.role?.lost()),
      leave: () => settled(wire.leave(member)),
      resync: () => settled(wire.resync(member)),
      cutOff: () => settled(member.tellOwn({ kind: 'CUT_OFF' })),
    });
  }
  return {
    hubs,
    lost: wire.lost,
    hold: () => {
      const release = wire.hold();
      return () => settledOn(base.runtime, release());
    },
    close: async () => {
      await base.runtime.settle();
      base.runtime.beside = undefined;
      for (const hub of hubs) await hub.stop();
      await base.close();
      await folder.remove();
    },
  };
}

async function settledOn(runtime: HandDrivenRuntime, act: unknown): Promise<void> {
  await act;
  await runtime.settle();
}

/** A signal on its way to another hub. */
type Sent = { readonly signal: Signal; readonly isTaken?: boolean };

/** Lets a member hear what another one has told. */
function hear(to: Member, from: Member, { signal, isTaken = false }: Sent): void {
  const { holders } = to;
  if (signal.kind === 'ASSIGNED') {
    const { agentId, ref } = signal.claimed;
    const isForOther = isTaken || holders.get(agentId) !== to;
    to.tellOwn(isForOther ? { kind: 'OCCUPIED', agentId, ref } : signal);
    return;
  }
  if (signal.kind === 'JOINED') {
    const { id: agentId } = signal.agent;
    const wasOwn = holders.get(agentId) === to;
    holders.set(agentId, from);
    if (wasOwn) to.tellOwn({ kind: 'REPLACED', agentId });
  }
  if (signal.kind === 'LEFT') {
    if (holders.get(signal.agentId) !== from) return;
    holders.delete(signal.agentId);
  }
  to.tellOwn(signal);
}

/** Signals between the members: each reaches the others later, or not at all. */
function signalsBetween(members: readonly Member[], runtime: HandDrivenRuntime) {
  const lost = new Set<Signal['kind']>();
  let held: (() => void)[] | undefined;

  const send = (from: Member, sent: Sent) => {
    if (lost.has(sent.signal.kind)) return;
    for (const member of members) {
      if (member === from) continue;
      const arrive = () => hear(member, from, structuredClone(sent));
      if (held) held.push(arrive);
      else runtime.timers.soon(arrive);
    }
  };
  const hold = () => {
    const waiting: (() => void)[] = [];
    held = waiting;
    return () => {
      held = undefined;
      for (const arrive of waiting) runtime.timers.soon(arrive);
    };
  };
  return { lost, send, hold };
}

/** Joins hubs as the store on PostgreSQL does. */
function wireOf({ store, runtime, logger: log }: EngineBase) {
  const members: Member[] = [];
  /** Hub that holds each connected agent. */
  const rows = new Map<string, Member>();
  const presence = ownPresence({ agents: store.agents, log });
  const ofAll = ownPreparations();
  const { lost, send, hold } = signalsBetween(members, runtime);

  const assign = (from: Member, signal: Extract<Signal, { kind: 'ASSIGNED' }>) => {
    const { agentId, ref } = signal.claimed;
    const isTaken = (from.holders.get(agentId) ?? from) === from;
    from.tellOwn(isTaken ? signal : { kind: 'OCCUPIED', agentId, ref });
    send(from, { signal, isTaken });
  };
  const tell = (from: Member, signal: Signal) => {
    if (signal.kind === 'ASSIGNED') return assign(from, signal);
    if (signal.kind === 'JOINED') {
      rows.set(signal.agent.id, from);
      from.holders.set(signal.agent.id, from);
    }
    if (signal.kind === 'LEFT') {
      if (rows.get(signal.agentId) === from) rows.delete(signal.agentId);
      if (from.holders.get(signal.agentId) !== from) return;
      from.holders.delete(signal.agentId);
    }
    from.tellOwn(signal);
    send(from, { signal });
  };
  const resync = (member: Member) => {
    for (const [agentId, holder] of member.holders) {
      if (holder === member && rows.get(agentId) !== member) member.tellOwn({ kind: 'REPLACED', agentId });
    }
    member.holders.clear();
    for (const [agentId, holder] of rows) member.holders.set(agentId, holder);
    member.tellOwn({ kind: 'RESYNC' });
  };

  const viewOf = (member: Member): HubView => ({
    id: member.id,
    version: '1',
    address: `http://hub-${member.id}:8080`,
    startedAtMs: 0,
    seenAtMs: 0,
    isLive: true,
    isScheduler: false,
    term: null,
    agents: [...rows.values()].filter((holder) => holder === member).length,
    runningTasks: 0,
    clockOffsetMs: 0,
    preparedAtMs: null,
  });

  const add = (): { readonly cluster: Cluster; readonly member: Member } => {
    const own = ownSignals(log);
    const member: Member = {
      id: `${members.length}`,
      holders: new Map(),
      signals: {
        hear: (listener: SignalListener) => own.hear(listener),
        tell: (signal) => tell(member, signal),
        caughtUp: async () => undefined,
      },
      tellOwn: (signal) => own.tell(signal),
      receiver: async (agentId) => {
        throw new AgentUnavailable(`agent ${agentId} is not connected`);
      },
    };
    members.push(member);
    const roles: Roles = {
      contend: async (holder) => {
        member.role = holder;
      },
      resign: async () => undefined,
    };
    const relay: Relay = {
      ask: (agentId, request, timeoutMs) =>
        (member.holders.get(agentId) ?? member).receiver(agentId, request, timeoutMs),
      askHub: async (hubId) => {
        throw new AgentUnavailable(`hub ${hubId} does not run`);
      },
      serve: (receiver) => {
        member.receiver = receiver;
      },
      serveHub: () => undefined,
    };
    const hubs: Hubs = {
      ownId: member.id,
      all: async () => members.map(viewOf),
      others: () => members.length - 1,
      otherAddresses: () => [],
      listensAt: async () => undefined,
    };
    const preparations = preparationsBeside(ofAll);
    return { cluster: { signals: member.signals, roles, presence, relay, preparations, hubs }, member };
  };
  const leave = (member: Member) => {
    members.splice(members.indexOf(member), 1);
    for (const { tellOwn } of members) tellOwn({ kind: 'HUBS' });
  };
  return { add, leave, resync, hold, lost };
}

/** Preparations of one hub, beside those of all. */
function preparationsBeside(ofAll: ShutdownPreparations): ShutdownPreparations {
  const own = ownPreparations();
  const read = async () => ({ HUB: (await own.read()).HUB, CLUSTER: (await ofAll.read()).CLUSTER });
  return {
    read,
    change: async (scope, initiatedAtMs) => {
      await (scope === 'HUB' ? own : ofAll).change(scope, initiatedAtMs);
      return read();
    },
  };
}
