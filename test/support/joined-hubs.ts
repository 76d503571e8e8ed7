/** Engines of several hubs on one store, joined in memory: the test chooses who schedules, and which signals are lost. */
import type { Hubs, HubView } from '@workbench-hub/hub/core/ports/hubs';
import { AgentUnavailable, type Mail, type MailReceiver } from '@workbench-hub/hub/core/ports/mail';
import type { RoleHolder, Roles } from '@workbench-hub/hub/core/ports/roles';
import type { ShutdownPreparations } from '@workbench-hub/hub/core/ports/shutdown-preparations';
import type { Signal, SignalListener, Signals } from '@workbench-hub/hub/core/ports/signals';
import type { Cluster } from '@workbench-hub/hub/core/ports/store';
import { ownPreparations } from '@workbench-hub/hub/store/sole-hub/own-preparations';
import { ownPresence } from '@workbench-hub/hub/store/sole-hub/own-presence';
import { ownSignals } from '@workbench-hub/hub/store/sole-hub/own-signals';
import { HandDrivenRuntime } from './hand-driven-runtime.js';
import {
  createEngineOver,
  type EngineBase,
  type EngineSetup,
  type EngineUnderTest,
  openEngineBase,
} from './running-engine.js';
import { temporaryFolder } from './temporary-folder.js';

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
  close(): Promise<void>;
}

interface Member {
  readonly id: string;
  readonly signals: Signals;
  readonly tellOwn: Signals['tell'];
  role?: RoleHolder;
  receiver: MailReceiver;
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
    const settled = async (act: unknown) => {
      await act;
      await base.runtime.settle();
    };
    hubs.push({
      ...base,
      ...engine,
      gain: (term) => settled(member.role?.gained(term)),
      lose: () => settled(member.role?.lost()),
      leave: () => settled(wire.leave(member)),
      resync: () => settled(member.tellOwn({ kind: 'RESYNC' })),
      cutOff: () => settled(member.tellOwn({ kind: 'CUT_OFF' })),
    });
  }
  return {
    hubs,
    lost: wire.lost,
    close: async () => {
      await base.runtime.settle();
      base.runtime.beside = undefined;
      for (const hub of hubs) await hub.stop();
      await base.close();
      await folder.remove();
    },
  };
}

/** Joins hubs as the store on PostgreSQL does: a signal reaches the other hubs later, or not at all. */
function wireOf({ store, runtime, logger: log }: EngineBase) {
  const members: Member[] = [];
  const holders = new Map<string, Member>();
  const lost = new Set<Signal['kind']>();
  const presence = ownPresence({ agents: store.agents, clock: runtime.clock, log });
  const ofAll = ownPreparations();

  const send = (from: Member, signal: Signal, except?: Member) => {
    if (lost.has(signal.kind)) return;
    for (const member of members) {
      if (member !== from && member !== except)
        runtime.timers.soon(() => member.tellOwn(structuredClone(signal)));
    }
  };
  const assign = (from: Member, signal: Extract<Signal, { kind: 'ASSIGNED' }>) => {
    const { agentId, ref } = signal.claimed;
    const holder = holders.get(agentId) ?? from;
    const occupied = { kind: 'OCCUPIED', agentId, ref } as const;
    from.tellOwn(holder === from ? signal : occupied);
    if (holder !== from && !lost.has('ASSIGNED'))
      runtime.timers.soon(() => holder.tellOwn(structuredClone(signal)));
    send(from, occupied, holder);
  };
  const tell = (from: Member, signal: Signal) => {
    if (signal.kind === 'ASSIGNED') return assign(from, signal);
    if (signal.kind === 'JOINED') {
      const { id: agentId } = signal.agent;
      const former = holders.get(agentId);
      holders.set(agentId, from);
      if (former && former !== from) former.tellOwn({ kind: 'REPLACED', agentId });
    }
    const isOutdated = signal.kind === 'LEFT' && holders.get(signal.agentId) !== from;
    if (isOutdated) return;
    if (signal.kind === 'LEFT') holders.delete(signal.agentId);
    from.tellOwn(signal);
    send(from, signal);
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
    agents: [...holders.values()].filter((holder) => holder === member).length,
    runningTasks: 0,
    clockOffsetMs: 0,
    preparedAtMs: null,
  });

  const add = (): { readonly cluster: Cluster; readonly member: Member } => {
    const own = ownSignals(log);
    const member: Member = {
      id: `${members.length}`,
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
    const mail: Mail = {
      ask: (agentId, request, timeoutMs) =>
        (holders.get(agentId) ?? member).receiver(agentId, request, timeoutMs),
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
    return { cluster: { signals: member.signals, roles, presence, mail, preparations, hubs }, member };
  };
  const leave = (member: Member) => {
    members.splice(members.indexOf(member), 1);
    for (const { tellOwn } of members) tellOwn({ kind: 'HUBS' });
  };
  return { add, leave, lost };
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
