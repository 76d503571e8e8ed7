/** One upstream during a term of the scheduler: the session with it, the instances that are lent to it, and its loans. */
import { setMaxListeners } from 'node:events';
import { lowerHubsOf, MAX_HUB_LEVELS, MAX_LOWER_HUBS } from '@workbench-hub/shared/domain/joined-hub';
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import { HubSession } from '@workbench-hub/shared/joining/hub-session';
import type {
  Assignment,
  HeldAttempt,
  Hub,
  HubConnection,
  HubRequest,
  Introduction,
} from '@workbench-hub/shared/joining/ports/hub';
import { NO_TRACING } from '@workbench-hub/shared/joining/ports/tracing';
import { Reporting } from '@workbench-hub/shared/joining/reporting';
import { withAnyOf } from '@workbench-hub/shared/runtime/abortable';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import type { AuditTrail } from '../../core/ports/audit.js';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { OpenLoans } from '../../core/ports/open-loans.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { UpstreamView } from '../../core/ports/upstreams.js';
import type { Completion, Loan, Task } from '../../core/task.js';
import type { LogFollower } from '../following/log-follower.js';
import type { RecipeCapacity } from '../hosts/recipe-capacity.js';
import type { UpstreamWishes } from '../hosts/upstream-wishes.js';
import type { InstanceControl } from '../instances/instance-control.js';
import type { Instances } from '../instances/instances.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import type { Scheduler } from '../scheduling/scheduler.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import { type LendingAudit, lendingAudit } from './lending-audit.js';
import type { UpstreamSettings } from './lending-settings.js';
import { LentInstances } from './lent-instances.js';
import { LoanClosing } from './loan-closing.js';
import { LoanEnds } from './loan-ends.js';
import { LoanInputs } from './loan-inputs.js';
import type { OccupyingLoan } from './loan-recall.js';
import { loanSpool } from './loan-spool.js';
import { LoanStarts } from './loan-starts.js';
import { OpenLoan } from './open-loan.js';
import { UpstreamRequests } from './upstream-requests.js';

export interface UpstreamPorts {
  readonly archive: Pick<TaskArchive, 'find' | 'filesOf' | 'formerAttempts'>;
  readonly loans: OpenLoans;
  readonly files: BlobStore;
  readonly transitions: TaskTransitions;
  readonly scheduler: Pick<Scheduler, 'place'>;
  readonly instances: Instances;
  readonly hostEnds: Pick<HostEnds, 'leftMsOf'>;
  readonly control: InstanceControl;
  readonly logFollower: Pick<LogFollower, 'follow'>;
  readonly recipeCapacity: Pick<RecipeCapacity, 'all'>;
  readonly upstreamWishes: Pick<UpstreamWishes, 'set'>;
  /** Whether no task may begin here. */
  readonly isPaused: () => boolean;
  /** Identity and public address of this hub. */
  readonly ownHub: { readonly id: string; readonly baseUrl: string | null };
  /** Absent while nothing is recorded. */
  readonly audit?: AuditTrail | null | undefined;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Assignments that an upstream may have open for each lent instance: offers and assignments cross. */
const OPEN_FOR_EACH = 4;
/** Assignments that it may have open in any case. */
const OPEN_AT_LEAST = 1000;
/** Time until the output of a loan is followed again after that has failed. */
const FOLLOW_AGAIN_MS = 5000;
/** Time in which changes of what is lent are gathered before the hub joins again. */
const REJOIN_AFTER_MS = 1000;

export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #ports: UpstreamPorts;
  readonly #log: Logger;
  readonly #session: HubSession;
  readonly #addresses: readonly string[];
  readonly #reporting: Reporting;
  readonly #lent: LentInstances;
  readonly #starts: LoanStarts;
  readonly #ends: LoanEnds;
  readonly #closing: LoanClosing;
  readonly #audit: LendingAudit;
  readonly #requests: UpstreamRequests;
  /** By the attempt at the upstream. */
  readonly #loans = new Map<string, OpenLoan>();
  readonly #byTask = new Map<string, OpenLoan>();
  #rejoin: Timer | undefined;
  /** Hubs below this one, as they were introduced. */
  #introduced = '';

  constructor(settings: UpstreamSettings, hub: Hub, ports: UpstreamPorts) {
    const { runtime, instances, hostEnds, loans, files, transitions, archive, scheduler, isPaused } = ports;
    this.#settings = settings;
    this.#ports = ports;
    const log = ports.log.child({ upstream: settings.name });
    this.#log = log;
    this.#closing = new LoanClosing({ loans, transitions, timers: runtime.timers, log });
    const spool = loanSpool({
      files,
      closing: this.#closing,
      loanOf: (taskId) => this.#byTask.get(taskId),
      settled: (loan) => this.#settled(loan),
    });
    this.#reporting = new Reporting({ spool, runtime, log, tracing: NO_TRACING });
    this.#lent = new LentInstances({
      settings,
      instances,
      hostEnds,
      isLoan: (taskId) => this.#byTask.get(taskId)?.isReported === false,
      isPaused,
      onOthers: () => this.#rejoinSoon(),
      clock: runtime.clock,
      timers: runtime.timers,
    });
    const inputs = new LoanInputs({
      files,
      runtime,
      log,
      connected: (signal) => this.#session.connected(signal),
    });
    const reporting = this.#reporting;
    this.#ends = new LoanEnds({
      archive,
      transitions,
      instances,
      reporting,
      reported: (loan) => this.#reported(loan),
      timers: runtime.timers,
      clock: runtime.clock,
      log,
    });
    this.#starts = new LoanStarts({
      files,
      inputs,
      transitions,
      scheduler,
      instances,
      reporting,
      runtime,
      log,
      ends: this.#ends,
      onUnable: () => this.#lent.keepAll(),
    });
    this.#audit = lendingAudit(settings.name, { audit: ports.audit, clock: runtime.clock });
    this.#requests = new UpstreamRequests({
      settings,
      lent: this.#lent,
      control: ports.control,
      recipeCapacity: ports.recipeCapacity,
      upstreamWishes: ports.upstreamWishes,
      audit: this.#audit,
      clock: runtime.clock,
      log,
    });
    this.#addresses = hub.addresses;
    this.#session = new HubSession(hub, this.#listener(), { runtime, log });
  }

  /** Goes on with these open loans, and joins the upstream in the background. */
  async start(tasks: readonly (Task & { readonly loan: Loan })[]): Promise<void> {
    for (const task of tasks) {
      const loan = new OpenLoan(task.loan, task.id, { hasTask: true, type: task.type });
      this.#add(loan);
      this.#ends.resume(loan, task);
    }
    this.#lent.start();
    await this.#session.start();
  }

  /** Its loans that occupy instances. */
  occupying(): OccupyingLoan[] {
    const { prefix, lend } = this.#settings;
    const running = [...this.#byTask.values()].filter(({ hasTask, isReported }) => hasTask && !isReported);
    return running.map(({ taskId, ref, isCanceled, isFreeing }) => ({
      taskId,
      instanceId: ref.instanceId.slice(prefix.length),
      isEnding: isCanceled || isFreeing,
      takeBackMs: lend.takeBackMs,
    }));
  }

  view(): UpstreamView {
    const { name, agentId, prefix } = this.#settings;
    return {
      name,
      agentId,
      prefix,
      addresses: this.#addresses,
      ...this.#session.state,
      instances: this.#lent.counts(),
      loans: this.#byTask.size,
    };
  }

  /** Leaves the upstream; loans go on. */
  async stop(): Promise<void> {
    this.#rejoin?.cancel();
    this.#lent.stop();
    // Nothing here tells of them in the next term, so it is done while the connection lasts.
    for (const loan of this.#byTask.values())
      if (!loan.hasTask) void this.#ends.giveBack(loan, 'the hub that lends the instance is stopping');
    this.#ends.stop();
    for (const loan of this.#byTask.values()) loan.end();
    await this.#session.stop();
    await this.#closing.stop();
  }

  /** A task may have changed. */
  taskChanged(taskId: string): void {
    const loan = this.#byTask.get(taskId);
    if (loan) this.#ends.changed(loan);
  }

  /** A task has ended at this hub. */
  ended(taskId: string, ending: Completion): void {
    const loan = this.#byTask.get(taskId);
    if (loan) this.#ends.ended(loan, ending);
  }

  /** An instance has become free of an attempt of this task. */
  freed(taskId: string): void {
    const loan = this.#byTask.get(taskId);
    if (loan) this.#ends.freed(loan);
  }

  /** Any task may have changed. */
  tasksChanged(): void {
    for (const loan of this.#byTask.values()) this.#ends.changed(loan);
  }

  /** A task can be claimed from now on. */
  enqueued(taskId: string): void {
    const loan = this.#byTask.get(taskId);
    if (loan) this.#starts.enqueued(loan);
  }

  instanceChanged(instanceId: string): void {
    this.#lent.changed(instanceId);
  }

  /** The end of an agent's host has changed. */
  hostEndChanged(agentId: string): void {
    for (const { profile } of this.#ports.instances.findAgent(agentId)?.instances ?? [])
      this.#lent.changed(profile.id);
  }

  /** Whether tasks may begin has changed. */
  pauseChanged(): void {
    this.#lent.allChanged();
  }

  /** An agent has joined or left. */
  agentsChanged(): void {
    if (this.#introduced !== '' && this.#introduced !== JSON.stringify(this.#below())) this.#rejoinSoon();
  }

  #listener() {
    return {
      introduce: () => this.#introduce(),
      onJoined: (connection: HubConnection) => this.#joined(connection),
      onAssign: (assignment: Assignment) => this.#assign(assignment),
      onCancel: (ref: AttemptRef) => {
        const loan = this.#loans.get(attemptKey(ref));
        if (loan) this.#ends.cancel(loan);
      },
      onAcknowledged: (ref: AttemptRef, counted: boolean) => this.#reporting.acknowledged(ref, counted),
      onRequest: (request: HubRequest) => this.#requests.reply(request),
    };
  }

  #introduce(): Introduction {
    const below = this.#below();
    this.#introduced = JSON.stringify(below);
    const running = [...this.#loans.values()].filter(({ isReported }) => !isReported).map(heldAttempt);
    const { id, baseUrl } = this.#ports.ownHub;
    return {
      instances: this.#lent.introduce(),
      running,
      spooled: this.#reporting.pending(),
      hub: { id, baseUrl, below, bringsHosts: true },
    };
  }

  #below() {
    const lower = lowerHubsOf(this.#ports.instances.agents());
    return lower.filter(({ path }) => path.length <= MAX_HUB_LEVELS).slice(0, MAX_LOWER_HUBS);
  }

  #joined(connection: HubConnection): void {
    // Each loan that prints waits for its end.
    setMaxListeners(0, connection.ended);
    this.#lent.joined(connection);
    this.agentsChanged();
    this.#reporting.joined(connection);
    for (const loan of this.#byTask.values()) void this.#follow(loan, connection);
  }

  #assign(assignment: Assignment): void {
    const key = attemptKey(assignment.ref);
    if (this.#isFlooded()) return;
    if (this.#loans.has(key)) {
      this.#log.warn({ ...assignment.ref }, 'ignored an assign: the loan was given before');
      return;
    }
    const loan = this.#starts.accept(
      assignment,
      this.#settings.name,
      this.#lent.localIdOf(assignment.ref.instanceId),
    );
    if (!loan) return;
    this.#add(loan);
    this.#audit('LOAN', loan.taskId, loan.loan.origin);
    void this.#starts.run(loan, assignment).then(() => {
      // The upstream may have been joined again meanwhile.
      const { connection } = this.#session;
      if (connection) void this.#follow(loan, connection);
    });
  }

  /** Whether the upstream has more assignments open than a sound one ever has; if so, its connection is ended. */
  #isFlooded(): boolean {
    const open = Math.max(this.#loans.size, this.#reporting.count);
    if (open < Math.max(OPEN_AT_LEAST, OPEN_FOR_EACH * this.#lent.count)) return false;
    const { connection } = this.#session;
    if (connection && !connection.ended.aborted) {
      this.#log.error(
        { open },
        'the upstream assigns more than this hub lends, and acknowledges no reports: its connection is ended',
      );
      void connection.close('a flood of assignments');
    }
    return true;
  }

  #add(loan: OpenLoan): void {
    this.#loans.set(attemptKey(loan.ref), loan);
    this.#byTask.set(loan.taskId, loan);
  }

  /** The upstream knows from now on that the loan is over; its instance may be in use for longer. */
  #reported({ taskId, ref }: OpenLoan): void {
    const instanceId = ref.instanceId.slice(this.#settings.prefix.length);
    if (this.#ports.instances.attemptOn(instanceId)?.taskId === taskId) this.#lent.changed(instanceId);
  }

  /** The upstream has acknowledged the end of a loan. */
  #settled(loan: OpenLoan): void {
    this.#loans.delete(attemptKey(loan.ref));
    this.#byTask.delete(loan.taskId);
  }

  /** Passes on what the scripts print, from the beginning that is still kept. Never rejects. */
  async #follow(loan: OpenLoan, connection: HubConnection): Promise<void> {
    let isOver = false;
    while (!isOver && loan.isFollowed && loan.hasTask && !loan.isReported && loan.followedOn !== connection) {
      loan.followedOn = connection;
      isOver = await withAnyOf([loan.over, connection.ended], (end) => this.#passOn(loan, connection, end));
    }
  }

  /** Resolves with whether there is nothing more to pass on over this connection. Never rejects. */
  async #passOn(loan: OpenLoan, connection: HubConnection, end: AbortSignal): Promise<boolean> {
    const { taskId, ref } = loan;
    try {
      for await (const event of this.#ports.logFollower.follow(taskId, { attempt: 0, offset: 0 }, end)) {
        if (event.type === 'output' && !connection.isCongested())
          connection.sendOutput(ref, event.offset, event.text);
      }
      return true;
    } catch (error) {
      if (end.aborted) return true;
      // The task may not be in the store yet; a later call need not wait for this pause.
      loan.followedOn = undefined;
      this.#log.warn({ err: error, taskId }, 'the output of a loan could not be passed on; trying again');
      await pause(this.#ports.runtime.timers, FOLLOW_AGAIN_MS, end).catch(() => undefined);
      return end.aborted;
    }
  }

  #rejoinSoon(): void {
    if (this.#rejoin) return;
    this.#rejoin = this.#ports.runtime.timers.after(REJOIN_AFTER_MS, () => {
      this.#rejoin = undefined;
      void this.#session.connection?.close('other instances are lent from now on');
    });
  }
}

function heldAttempt({ ref, loan }: OpenLoan): HeldAttempt {
  return { ...ref, proof: loan.proof ?? undefined };
}
