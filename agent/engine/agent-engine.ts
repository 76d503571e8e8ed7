/** The agent without its adapters: wires instances, jobs, reports and the session with a hub. */

import { HubSession } from '@workbench-hub/shared/joining/hub-session';
import type { Hub, InstanceState, Reply } from '@workbench-hub/shared/joining/ports/hub';
import { NO_TRACING, type Tracing } from '@workbench-hub/shared/joining/ports/tracing';
import { Reporting } from '@workbench-hub/shared/joining/reporting';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Service } from '@workbench-hub/shared/runtime/service';
import type { BlobCache } from '../core/ports/blob-cache.js';
import type { Programs } from '../core/ports/programs.js';
import type { Spool } from '../core/ports/spool.js';
import type { Workspace } from '../core/ports/workspace.js';
import { CHECKPOINT_DELIVERY_MS } from '../core/stop-time.js';
import { Instances } from './instances.js';
import { BatchJobs, type BatchSettings } from './jobs/batch-job.js';
import { Blobs } from './jobs/blobs.js';
import { Jobs } from './jobs/jobs.js';
import { runProbeJob } from './probe-job.js';
import type { InstanceSettings } from './supervisor.js';
import { type UpdateAbility, Updates } from './updates.js';

export interface EngineSettings extends BatchSettings {
  readonly instances: readonly InstanceSettings[];
  readonly taskLogLimitBytes: number;
  /** Maximum time for which a stop waits for running attempts. */
  readonly drainTimeoutMs: number;
  /** Whether a hub may update this agent, and how. */
  readonly updates: UpdateAbility;
}

export interface EnginePorts {
  readonly hub: Hub;
  readonly programs: Programs;
  readonly cache: BlobCache;
  readonly workspace: Workspace;
  readonly spool: Spool;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly tracing?: Tracing;
  /** Called when hubs refuse the credential, with the time for which none has taken it. */
  readonly onUnauthorized?: ((forMs: number) => void) | undefined;
  /** Called when the hub knows the end of this host, with the time from now after which the agent is to stop; absent for one that has no end. */
  readonly onStopAfter?: ((afterMs: number) => void) | undefined;
}

/** Time within which it waits for a hub that is away. */
const REJOIN_MS = 5000;

export class AgentEngine implements Service {
  readonly name = 'agent engine';
  readonly #instances: Instances;
  readonly #jobs: Jobs;
  readonly #reporting: Reporting;
  readonly #session: HubSession;
  readonly #updates: Updates;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  readonly #drainTimeoutMs: number;

  constructor(settings: EngineSettings, ports: EnginePorts) {
    const { hub, programs, cache, workspace, spool, runtime, log, tracing = NO_TRACING } = ports;
    const instances = new Instances(settings.instances, { programs, runtime, log });
    const reporting = new Reporting({ spool, runtime, log, tracing });
    const blobs = new Blobs({ cache, runtime, log, connected: (signal) => session.connected(signal) });
    const jobs = new Jobs({
      instances,
      reporting,
      batchJobs: new BatchJobs(settings, {
        blobs,
        workspace,
        runtime,
        log,
        tracing,
        isOutputStorageOn: () => session.isOutputStorageOn,
      }),
      spool,
      runtime,
      log,
      tracing,
      connection: () => session.connection,
      taskLogLimitBytes: settings.taskLogLimitBytes,
    });
    let introduced: InstanceState[] = [];
    const session: HubSession = new HubSession(
      hub,
      {
        introduce: () => {
          introduced = instances.states();
          const { isTrial } = updates;
          return { instances: introduced, running: jobs.running(), spooled: reporting.pending(), isTrial };
        },
        onJoined: (connection) => {
          instances.joined(connection, introduced);
          reporting.joined(connection);
          jobs.joined();
        },
        onAssign: (assignment) => jobs.assign(assignment),
        onCancel: (ref) => jobs.cancel(ref),
        onAcknowledged: (ref, counted) => reporting.acknowledged(ref, counted),
        onRequest: (request) => {
          if (request.kind === 'bringHosts') return { error: 'an agent brings no hosts', text: null };
          if (request.kind === 'stopAfter') return stopsAfter(request.afterMs, ports.onStopAfter);
          return 'instanceId' in request ? instances.reply(request) : updates.reply(request);
        },
      },
      { runtime, log, onUnauthorized: ports.onUnauthorized },
    );
    const updates: Updates = new Updates(
      settings.updates,
      {
        connected: (signal) => session.connected(signal),
        hubAddress: () => session.state.joined?.address ?? null,
        isEmpty: () => jobs.running().length === 0 && reporting.pending().length === 0,
        emptied: () => jobs.ended().then(() => reporting.delivered()),
        hold: () => instances.hold(),
        release: () => instances.release(),
        startInstances: () => instances.start(),
        probe: (nonce) => runProbeJob(nonce, { programs, cache, workspace, runtime }),
      },
      { runtime, log },
    );
    this.#updates = updates;
    this.#instances = instances;
    this.#jobs = jobs;
    this.#reporting = reporting;
    this.#session = session;
    this.#runtime = runtime;
    this.#log = log;
    this.#drainTimeoutMs = settings.drainTimeoutMs;
  }

  async start(): Promise<void> {
    // A version on trial takes no tasks: nothing is lost if it fails.
    if (!this.#updates.isTrial) this.#instances.start();
    await this.#session.start();
  }

  /** Drains for the drain time, evicts what still runs, ends every instance, then leaves the hub. Reports that are not
   *  acknowledged stay in the spool. */
  async stop(): Promise<void> {
    this.#updates.stop();
    await this.#drain();
    // Jobs end before their programs are asked to: they have the time of a cancel to save what they can go on from.
    this.#instances.drain();
    this.#jobs.evict();
    await this.#jobs.ended();
    await this.#instances.stop();
    await this.#deliverCheckpoints();
    await this.#session.stop();
  }

  /** Resolves when the checkpoints of returned attempts have reached a hub, or when the time for it is over. A connected hub then gets the
   *  returns without them, so that it need not wait; else the next start delivers them. */
  async #deliverCheckpoints(): Promise<void> {
    if (!this.#reporting.hasCheckpoints) return;
    const limitMs = this.#session.connection === null ? REJOIN_MS : CHECKPOINT_DELIVERY_MS;
    const done = new AbortController();
    const overdue = pause(this.#runtime.timers, limitMs, done.signal).catch(() => undefined);
    await Promise.race([this.#reporting.checkpointsDelivered(), overdue]);
    done.abort(new Error('delivered'));
    if (this.#reporting.hasCheckpoints && this.#session.connection !== null) {
      this.#log.warn({ limitMs }, 'checkpoints took too long to upload: attempts are returned without them');
      this.#reporting.leaveCheckpointsOut();
    }
  }

  /** Resolves when nothing runs and all reports have reached a connected hub, or when the drain time is over. */
  async #drain(): Promise<void> {
    const running = this.#jobs.running().length;
    if (this.#drainTimeoutMs === 0 || (running === 0 && this.#reporting.isDelivered)) return;
    this.#log.info({ running, drainTimeoutMs: this.#drainTimeoutMs }, 'draining: running tasks continue');
    this.#instances.drain();
    const done = new AbortController();
    const drained = this.#jobs.ended().then(() => this.#reporting.delivered());
    const overdue = pause(this.#runtime.timers, this.#drainTimeoutMs, done.signal).then(
      () =>
        this.#log.warn(
          { running: this.#jobs.running().length },
          'drainTimeout is over: running tasks are returned',
        ),
      () => undefined,
    );
    await Promise.race([drained, overdue]);
    done.abort(new Error('drained'));
  }
}

function stopsAfter(afterMs: number, stop: EnginePorts['onStopAfter']): Reply {
  if (stop === undefined) return { error: 'this agent does not stop by itself (stopAfter)', text: null };
  stop(afterMs);
  return { error: null, text: null };
}
