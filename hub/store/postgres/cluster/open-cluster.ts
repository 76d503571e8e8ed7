/** Opening of the ports between the hubs of a database. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Hubs } from '../../../core/ports/hubs.js';
import { CATCH_UP_LIMIT_MS } from '../../../core/ports/signals.js';
import type { Cluster } from '../../../core/ports/store.js';
import type { ClaimedTask } from '../../../core/ports/task-queue.js';
import type { Database } from '../connection/pool.js';
import { AgentHolders } from './common/agent-holders.js';
import { StatementRetries } from './common/statement-retries.js';
import { CLUSTER_TIMINGS, type ClusterTimings } from './common/timings.js';
import { SchedulerRole } from './leadership/scheduler-role.js';
import { clusterPreparations } from './membership/cluster-preparations.js';
import { ClusterPresence } from './membership/cluster-presence.js';
import { type Heartbeat, HubRows } from './membership/hub-rows.js';
import { ClusterRelay } from './relay/cluster-relay.js';
import { ClusterSignals } from './signals/cluster-signals.js';
import { ControlConnection } from './signals/control-connection.js';
import { longSignals } from './signals/long-signals.js';
import { MessageReceiver } from './signals/message-receiver.js';
import { MessageSender } from './signals/message-sender.js';
import { CHANNEL, type Content } from './signals/messages.js';
import { Resyncs } from './signals/resync.js';

export interface ClusterOptions {
  /** Id of the hub, which it keeps over its starts. */
  readonly hubId: string;
  /** Name of this start of the hub, which no other has. */
  readonly incarnation: string;
  readonly version: string;
  /** Schema generation of this hub. */
  readonly generation: number;
  /** Clock of the machine. Times of the store come from the database. */
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  /** Reads running tasks by id; those that no longer run may be missing. */
  readonly claimedTasks: (taskIds: readonly string[]) => Promise<readonly ClaimedTask[]>;
  /** Another start of the hub has taken its place, another hub has the same id, or newer hubs have changed the tables: this one must end. */
  readonly onBroken: (why: Error) => void;
  readonly timings?: Partial<ClusterTimings>;
}

export interface OpenedCluster extends Cluster {
  readonly hubs: Hubs;
  /** Ends the membership in order: gives the role up, and disconnects the agents of this hub. The database stays open. */
  close(): Promise<void>;
}

/** Makes this hub one of those of a migrated database. Rejects with `StartRefused` while another hub with the same id runs, and with
 *  `DatabaseFault`. */
export async function openCluster(database: Database, options: ClusterOptions): Promise<OpenedCluster> {
  const parts = new ClusterParts(database, options);
  await parts.open();
  return parts.ports;
}

/** The parts of a membership, each made of those before it. News reach them when they are opened. */
class ClusterParts {
  readonly signals: ClusterSignals;
  readonly role: SchedulerRole;
  readonly presence: ClusterPresence;
  readonly relay: ClusterRelay;
  readonly preparations: Cluster['preparations'];
  readonly hubs: HubRows;
  readonly #log: Logger;
  readonly #timers: Timers;
  readonly #timings: ClusterTimings;
  readonly #holders: AgentHolders;
  readonly #control: ControlConnection;
  readonly #sender: MessageSender;
  readonly #receiver: MessageReceiver;
  readonly #resyncs: Resyncs;
  #isAlone = true;
  #lacksNotifications = false;
  #isDisconnecting = false;
  #isClosed = false;

  constructor(database: Database, options: ClusterOptions) {
    const { hubId, incarnation, version, generation, clock, timers, log } = options;
    const timings = { ...CLUSTER_TIMINGS, ...options.timings };
    const { lapseMs } = timings;
    const self = { hubId, incarnation, version, generation };
    const retries = new StatementRetries(options);
    const holders = new AgentHolders(hubId);
    this.#log = log;
    this.#timers = timers;
    this.#timings = timings;
    this.#holders = holders;
    this.#control = new ControlConnection({ database, timers, timings, log, channel: CHANNEL });
    const common = {
      ...{ self, hubId, incarnation, database, retries, holders, lapseMs, clock, timers, timings, log },
      control: this.#control,
    };
    this.#sender = new MessageSender(common);
    this.hubs = new HubRows({ ...common, onBroken: options.onBroken });
    this.role = new SchedulerRole({ ...common, onFree: () => this.#sendToOthers({ role: 'FREE' }) });
    this.presence = new ClusterPresence(common);
    this.preparations = clusterPreparations(common);
    this.relay = new ClusterRelay({
      ...common,
      pollMs: timings.pollRelayMs,
      tell: (mailTo) => this.#sender.send({ mailTo }),
    });
    this.signals = new ClusterSignals({
      ...common,
      send: (signal) => this.#sendToOthers(signal),
      claimedTasks: options.claimedTasks,
    });
    this.#resyncs = new Resyncs({
      timers,
      log,
      everyMs: () => (this.#lacksNotifications ? timings.resyncWithoutNotificationsMs : timings.resyncMs),
      isNeeded: () => this.hubs.others() > 0,
      resync: () => this.#resync(),
    });
    this.#receiver = new MessageReceiver({
      ownHead: this.#sender.head,
      onContent: (content) => this.#receive(content),
      take: (from, signals) => this.signals.take(from, signals),
      textsOf: longSignals(database),
      onGap: () => this.#resyncs.soon(),
    });
  }

  async open(): Promise<void> {
    await this.#control.open({
      heard: (payload) => this.#receiver.receive(payload),
      reopened: () => this.#reopened(),
    });
    try {
      await this.hubs.register();
      await this.presence.readHolders();
    } catch (error) {
      await this.hubs.close();
      this.#control.close();
      throw error;
    }
    this.#isAlone = this.hubs.others() === 0;
    this.hubs.start({
      found: (heartbeat) => this.#found(heartbeat),
      cutOff: () => this.signals.tell({ kind: 'CUT_OFF' }),
    });
    this.#resyncs.start(this.#timings.settleMs);
    this.#announce();
  }

  /** The ports, as objects whose functions may be passed on alone. */
  get ports(): OpenedCluster {
    const { signals, role, presence, relay, preparations, hubs } = this;
    return {
      signals: {
        tell: (signal) => signals.tell(signal),
        hear: (listener) => signals.hear(listener),
        caughtUp: () => this.#caughtUp(),
      },
      roles: { contend: (holder) => role.contend(holder), resign: () => role.resign() },
      presence: {
        join: (agent, isWanted) => presence.join(agent, isWanted),
        changed: (...change) => presence.changed(...change),
        leave: (...connection) => presence.leave(...connection),
        holds: (agentId, epoch) => presence.holds(agentId, epoch),
        all: () => presence.all(),
        forget: (agentId) => presence.forget(agentId),
      },
      relay: {
        ask: (...question) => relay.ask(...question),
        askHub: (...question) => relay.askHub(...question),
        serve: (receiver) => relay.serve(receiver),
        serveHub: (kind, receiver) => relay.serveHub(kind, receiver),
      },
      preparations,
      hubs: {
        ownId: hubs.ownId,
        all: () => hubs.all(),
        others: () => hubs.others(),
        otherAddresses: () => hubs.otherAddresses(),
        listensAt: (address) => hubs.listensAt(address),
      },
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    await this.role.resign();
    for (const agentId of this.#holders.own) {
      this.#sendToOthers({ signal: { kind: 'LEFT', agentId }, epoch: this.#holders.epochOf(agentId) });
    }
    await this.#resyncs.close();
    await this.relay.close();
    await this.presence.close();
    await this.hubs.close();
    if (this.hubs.others() > 0) this.#sender.send({ hub: 'ENDS' });
    this.#isClosed = true;
    await this.#sender.close();
    this.#control.close();
  }

  /** PostgreSQL delivers notifications in the order of their commits, so what others have sent before arrives before an own mark. */
  async #caughtUp(): Promise<void> {
    if (this.hubs.others() === 0 || this.#lacksNotifications) return;
    await new Promise<void>((resolve) => {
      const timer = this.#timers.after(CATCH_UP_LIMIT_MS, resolve);
      const done = () => {
        timer.cancel();
        resolve();
      };
      const heard = async () => {
        const number = await this.#sender.mark();
        if (number !== null) await this.#receiver.heard(number);
      };
      heard().then(done, done);
    });
  }

  #sendToOthers(message: Parameters<MessageSender['send']>[0]): void {
    if (!this.#isAlone) this.#sender.send(message);
  }

  /** Tells the others that this hub has begun, and finds out whether notifications arrive. */
  #announce(): void {
    this.#sender.send({ hub: 'BEGINS' });
    this.#timers.after(this.#timings.settleMs, () => {
      if (this.#isClosed || this.#receiver.ownNumber > 0) return;
      this.#lacksNotifications = true;
      this.#resyncs.soon();
      this.#log.warn(
        'notifications of the database do not arrive, such as through a pooler that lends out connections for one transaction each: ' +
          'hubs react to each other within seconds only; name PostgreSQL itself in store, or set the pooler to pool sessions',
      );
    });
  }

  #receive({ hub, role, mailTo }: Content): void {
    if (hub) this.hubs.lookNow();
    if (role === 'FREE') this.role.tryNow();
    if (mailTo === this.hubs.ownId) this.relay.look();
  }

  #reopened(): void {
    this.hubs.lookNow();
    this.#resyncs.soon();
  }

  #found({ isAnyGone, hasRequests, wasGone }: Heartbeat): void {
    const isAlone = this.hubs.others() === 0;
    if (isAlone !== this.#isAlone) {
      this.#isAlone = isAlone;
      this.signals.tell({ kind: 'HUBS' });
      // The last of the others may have written something that it has told nobody.
      if (isAlone) this.#resyncs.soon();
    }
    this.#lacksNotifications &&= this.#receiver.ownNumber === 0;
    if (hasRequests) this.relay.look();
    if (wasGone) {
      this.#sender.send({ hub: 'BEGINS' });
      this.#resyncs.soon();
    }
    if (isAnyGone && this.role.isHeld) void this.#disconnectLost();
  }

  async #disconnectLost(): Promise<void> {
    if (this.#isDisconnecting) return;
    this.#isDisconnecting = true;
    try {
      for (const { id, hub_id, epoch } of await this.presence.disconnectLost()) {
        this.#log.warn({ agentId: id, hubId: hub_id }, 'an agent is unreachable, because its hub is gone');
        this.signals.tellLost(id, epoch);
      }
    } catch (error) {
      this.#log.warn(
        { err: error },
        'agents of a hub that is gone could not be disconnected; the hub tries again',
      );
    } finally {
      this.#isDisconnecting = false;
    }
  }

  async #resync(): Promise<void> {
    for (const agentId of await this.presence.readHolders()) this.signals.tell({ kind: 'REPLACED', agentId });
    this.signals.tell({ kind: 'RESYNC' });
  }
}
