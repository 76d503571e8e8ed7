/** An agent of the simulated world: the real engine and the real link to the hub over simulated ports. */

import type { Spool } from '@workbench-hub/agent/core/ports/spool';
import { AgentEngine } from '@workbench-hub/agent/engine/agent-engine';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import { hubLink } from '@workbench-hub/shared/hub-link/hub-link';
import type { Assignment, Hub, HubConnection } from '@workbench-hub/shared/joining/ports/hub';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { AgentDisk, simulatedCache, simulatedSpool, simulatedWorkspace } from './agent-disk.js';
import type { Breakage } from './breakages/breakage.js';
import type { Network } from './network.js';
import { Process, type WallClock } from './process.js';
import { type ProgramRules, SimulatedPrograms } from './programs.js';
import { DRAIN_TIMEOUTS_MS } from './settings.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import { transferWith } from './transfer.js';
import type { World } from './world.js';

/** Longest time of a stop beyond the drain timeout, in which programs are ended by force. */
const STOP_LIMIT_MS = 30_000;

export interface AgentWorld {
  readonly world: World;
  readonly network: Network;
  readonly hubs: SimulatedHubs;
  /** Addresses of its configuration. */
  readonly addresses: readonly string[];
  readonly rules: ProgramRules;
  readonly logFor: (process: Process) => Logger;
  readonly breakage: Breakage | undefined;
  /** Whether one process serves all instances of the agent. */
  readonly sharesProcess?: boolean;
  readonly onAssigned: (assignment: Assignment) => void;
  /** Called when the hub cancels a running attempt. */
  readonly onCancel: (ref: AttemptRef) => void;
  /** Called when the hub acknowledges a report. */
  readonly onSettled: (report: AttemptReport, counted: boolean) => void;
}

export class SimulatedAgent {
  readonly id: string;
  readonly disk = new AgentDisk();
  readonly wallClock: WallClock = { offsetMs: 0 };
  readonly instances: readonly InstanceProfile[];
  /** Called when its process has ended. */
  onEnd: () => void = () => undefined;
  readonly #nodeId: string;
  readonly #around: AgentWorld;
  readonly #drainTimeoutMs: number;
  #process: Process | undefined;
  #programs: SimulatedPrograms | undefined;
  #engine: AgentEngine | undefined;
  /** Attempts that this process was assigned and has not reported. */
  #running = new Map<string, AttemptRef>();
  /** `<task>/<instance>`: the current attempts that were lost perhaps through others in the same process. */
  #innocent = new Set<string>();
  /** Start of the stop, and the attempts assigned since. */
  #stop: { readonly sinceMs: number; readonly late: Set<string> } | null = null;
  /** Reports of this process by attempt, acknowledged or not. */
  #reports = new Map<string, AttemptReport>();
  #unsettled = new Set<string>();
  /** Spooled reports of all its processes by attempt, not acknowledged yet. */
  readonly #kept = new Map<string, AttemptReport>();

  constructor(id: string, instances: readonly InstanceProfile[], around: AgentWorld) {
    this.id = id;
    this.instances = instances;
    this.#around = around;
    this.#nodeId = around.world.newId();
    this.#drainTimeoutMs = around.world.random.of(DRAIN_TIMEOUTS_MS);
  }

  get alive(): boolean {
    return this.#process?.alive ?? false;
  }

  get programs(): SimulatedPrograms | undefined {
    return this.alive ? this.#programs : undefined;
  }

  /** Whether the attempt runs here or has a spooled report. */
  holds(ref: AttemptRef): boolean {
    const key = attemptKey(ref);
    const kept = this.#kept.get(key);
    if (kept) return kept.outcome !== 'RETURNED';
    return this.alive && !this.#givesBack && this.#running.has(key);
  }

  /** Outcome of the attempt in a report that no hub has acknowledged yet; undefined when there is none. */
  reportedOutcome(ref: AttemptRef): AttemptReport['outcome'] | undefined {
    return this.#kept.get(attemptKey(ref))?.outcome;
  }

  /** Number of attempts that it holds, also while it is down. */
  get held(): number {
    return this.alive ? this.#running.size + this.#unsettled.size : this.disk.reports.size;
  }

  start(): void {
    const { world, rules, logFor, breakage, sharesProcess = false } = this.#around;
    const process = new Process(this.id, world, this.wallClock);
    world.tell(this.id, 'starts');
    this.#process = process;
    process.onEnd(() => this.onEnd());
    this.#innocent = new Set();
    this.#programs = new SimulatedPrograms(process, rules, this.disk, (taskId, instanceId) =>
      this.#innocent.add(`${taskId}/${instanceId}`),
    );
    const spool = simulatedSpool(this.disk, process);
    this.#running = new Map();
    this.#stop = null;
    this.#reports = new Map(spool.leftOver.map(({ report }) => [attemptKey(report), report]));
    this.#unsettled = new Set(this.#reports.keys());
    const ports = {
      hub: this.#hub(process),
      programs: this.#programs,
      cache: simulatedCache(this.disk, process),
      workspace: simulatedWorkspace(this.disk, process),
      spool,
      runtime: process.runtime,
      log: logFor(process),
    };
    const broken = { ...ports, ...breakage?.agent?.(ports) };
    this.#engine = new AgentEngine(
      {
        instances: this.instances.map((profile) => ({
          ...profile,
          autostart: true,
          command: ['simulated'],
          env: {},
          sandbox: null,
          limits: null,
          commonProcess: sharesProcess ? 'all' : null,
          startTimeoutMs: 5000,
          stopTimeoutMs: 3000,
          cancelTimeoutMs: 5000,
        })),
        taskLogLimitBytes: 1000,
        drainTimeoutMs: this.#drainTimeoutMs,
        updates: { unable: 'it is simulated', system: 'none' },
        fileRoots: [],
        uncMounts: {},
        keepWorkingDirectories: 'never',
        hostPathFault: () => undefined,
        outputLimits: { totalBytes: 1e6, fileBytes: 1e6, files: 100 },
      },
      { ...broken, spool: this.#watched(broken.spool) },
    );
    void this.#engine.start();
  }

  /** Ends it like kill -9, with its programs. */
  kill(): void {
    this.#process?.end();
  }

  /** Stops it like SIGTERM. Its attempts may end within the drain timeout; then it returns them. */
  stop(): void {
    const process = this.#process;
    if (!process?.alive || this.#stop) return;
    const { world } = this.#around;
    this.#stop = { sinceMs: world.nowMs, late: new Set() };
    process.after(this.#drainTimeoutMs + STOP_LIMIT_MS, () =>
      world.violated('a stop ends', `${this.id} does not stop`),
    );
    void this.#engine?.stop().then(() => {
      if (process.alive && process.pendingTimers > 0) {
        world.violated('a stop leaves nothing', `${this.id} has ${process.pendingTimers} timers left`);
      }
      process.end();
    });
  }

  /** Returns its attempts, whether or not a hub is connected. */
  get #givesBack(): boolean {
    return this.#stop !== null && this.#around.world.nowMs - this.#stop.sinceMs >= this.#drainTimeoutMs;
  }

  /** Checks that attempts from before a stop go on for the drain timeout, and that none begins after it. */
  #checkStop(key: string, { outcome, message }: AttemptReport): void {
    if (!this.#stop || !this.#running.has(key)) return;
    const { world } = this.#around;
    const isGivenBack = outcome === 'RETURNED' && message === 'the agent is stopping';
    const isLate = this.#stop.late.has(key);
    if (isGivenBack && !isLate && !this.#givesBack) {
      world.violated('a stop lets tasks end', `${this.id} returned ${key} before its drain time was over`);
    }
    if (isLate && outcome !== 'RETURNED') {
      world.violated('a stop begins nothing', `${this.id} ran ${key}, which was assigned after the stop`);
    }
  }

  #watched(spool: Spool): Spool {
    return {
      ...spool,
      put: async (spooled) => {
        const { report } = spooled;
        const key = attemptKey(report);
        this.#reported(report);
        this.#unsettled.add(key);
        await spool.put(spooled);
        if (this.#unsettled.has(key)) this.#kept.set(key, report);
      },
    };
  }

  /** Repeats an old report at random, preferably one after which the task is run again. */
  #tellAgain(process: Process, { sendReport }: HubConnection, report: AttemptReport): void {
    const { world } = this.#around;
    const leavesTask = report.outcome === 'RETURNED' || report.outcome === 'INSTANCE_LOST';
    if (!world.turbulent || !world.happens(leavesTask ? 0.7 : 0.1)) return;
    process.after(60_000 * world.random.next() ** 3, () => {
      world.fault('report told twice', this.id);
      sendReport(report);
    });
  }

  #reported(report: AttemptReport): void {
    const key = attemptKey(report);
    const { world } = this.#around;
    if (this.#reports.get(key) !== report) {
      world.tell(this.id, `reports ${key} ${report.outcome}`);
      if (report.outcome === 'INSTANCE_LOST' && this.#innocent.has(`${report.taskId}/${report.instanceId}`))
        world.violated('a crash counts for its own task', key);
    }
    this.#checkStop(key, report);
    this.#running.delete(key);
    this.#reports.set(key, report);
  }

  #hub(process: Process): Hub {
    const { network, world, hubs, addresses, onAssigned, onCancel, onSettled } = this.#around;
    const link = hubLink({
      addresses,
      agent: {
        id: this.id,
        nodeId: this.#nodeId,
        version: '1',
        revision: '1',
        installation: { kind: 'FILE', os: 'windows', arch: 'x64' },
      },
      secret: { read: () => Promise.resolve('secret'), advice: '' },
      tls: () => Promise.resolve({}),
      runtime: process.runtime,
      files: (address) => transferWith(address, { id: this.id, process, network, hubs, world }),
      dial: ({ url, handshakeTimeoutMs }, handlers) =>
        network.dial(this.id, `ws://${new URL(url).host}`, process, handlers, handshakeTimeoutMs),
    });
    return {
      ...link,
      join: (address, listener, signal) => {
        return link.join(
          address,
          {
            ...listener,
            onAssign: (assignment) => {
              const { ref } = assignment;
              onAssigned(assignment);
              world.tell(this.id, `is assigned ${attemptKey(ref)}`);
              const busy = [...this.#running.values()].find(
                ({ instanceId }) => instanceId === ref.instanceId,
              );
              if (busy && attemptKey(busy) !== attemptKey(ref) && !hubs.hasForgotten(busy)) {
                world.violated(
                  'one task an instance',
                  `${ref.instanceId} was assigned ${attemptKey(ref)} while it runs ${attemptKey(busy)}`,
                );
              }
              if (!this.#reports.has(attemptKey(ref))) {
                this.#running.set(attemptKey(ref), ref);
                this.#innocent.delete(`${ref.taskId}/${ref.instanceId}`);
                this.#stop?.late.add(attemptKey(ref));
              }
              listener.onAssign(assignment);
            },
            onJoined: (connection) => {
              world.tell(this.id, 'has joined');
              // A stopping agent does not spool what it returns.
              const sendReport: HubConnection['sendReport'] = (report, blobs) => {
                this.#reported(report);
                connection.sendReport(report, blobs);
                this.#tellAgain(process, connection, report);
              };
              listener.onJoined({ ...connection, sendReport });
            },
            onCancel: (ref) => {
              world.tell(this.id, `is told to cancel ${attemptKey(ref)}`);
              if (this.#running.has(attemptKey(ref))) onCancel(ref);
              listener.onCancel(ref);
            },
            onAcknowledged: (ref, counted) => {
              const report = this.#reports.get(attemptKey(ref));
              world.tell(this.id, `is told ${attemptKey(ref)} is acknowledged, counted ${counted}`);
              this.#unsettled.delete(attemptKey(ref));
              this.#kept.delete(attemptKey(ref));
              if (report) onSettled(report, counted);
              listener.onAcknowledged(ref, counted);
            },
          },
          signal,
        );
      },
    };
  }
}
