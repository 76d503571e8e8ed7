/** One upstream during a term of the scheduler: the session with it, the instances that are lent to it, and its loans. */
import { setMaxListeners } from 'node:events';
import { lowerHubsOf, MAX_HUB_LEVELS, MAX_LOWER_HUBS } from '@workbench-hub/shared/domain/joined-hub';
import type { WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import { HubSession } from '@workbench-hub/shared/joining/hub-session';
import type {
  Assignment,
  HeldAttempt,
  Hub,
  HubConnection,
  HubRequest,
  Introduction,
  Reply,
} from '@workbench-hub/shared/joining/ports/hub';
import { NO_TRACING } from '@workbench-hub/shared/joining/ports/tracing';
import { Reporting } from '@workbench-hub/shared/joining/reporting';
import { withAnyOf } from '@workbench-hub/shared/runtime/abortable';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { AuditTrail } from '../../core/ports/audit.js';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { OpenLoans } from '../../core/ports/open-loans.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { UpstreamView } from '../../core/ports/upstreams.js';
import type { Completion, Loan, Task, TaskOrigin } from '../../core/task.js';
import type { LogFollower } from '../following/log-follower.js';
import type { RecipeCapacity } from '../hosts/recipe-capacity.js';
import type { UpstreamWishes } from '../hosts/upstream-wishes.js';
import type { InstanceControl } from '../instances/instance-control.js';
import type { Instances } from '../instances/instances.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import type { Scheduler } from '../scheduling/scheduler.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { UpstreamSettings } from './lending-settings.js';
import { LentInstances } from './lent-instances.js';
import { lentRecipes, wantedWithin } from './lent-recipes.js';
import { LoanClosing } from './loan-closing.js';
import { LoanEnds } from './loan-ends.js';
import { LoanInputs } from './loan-inputs.js';
import type { OccupyingLoan } from './loan-recall.js';
import { loanSpool } from './loan-spool.js';
import { LoanStarts } from './loan-starts.js';
import { OpenLoan } from './open-loan.js';

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
/** Requests of an upstream that are carried out at a time. */
const MAX_REQUESTS = 100;
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
  /** By the attempt at the upstream. */
  readonly #loans = new Map<string, OpenLoan>();
  readonly #byTask = new Map<string, OpenLoan>();
  #rejoin: Timer | undefined;
  #requests = 0;
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
      onRequest: (request: HubRequest) => this.#reply(request),
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
    if (!loan.isFollowed || !loan.hasTask || loan.isReported || loan.followedOn === connection) return;
    loan.followedOn = connection;
    await withAnyOf([loan.over, connection.ended], (end) => this.#passOn(loan, connection, end));
  }

  async #passOn(loan: OpenLoan, connection: HubConnection, end: AbortSignal): Promise<void> {
    const { taskId, ref } = loan;
    try {
      for await (const event of this.#ports.logFollower.follow(taskId, { attempt: 0, offset: 0 }, end)) {
        if (event.type === 'output' && !connection.isCongested())
          connection.sendOutput(ref, event.offset, event.text);
      }
    } catch (error) {
      if (end.aborted) return;
      // The task may not be in the store yet.
      loan.followedOn = undefined;
      this.#log.warn({ err: error, taskId }, 'the output of a loan could not be passed on');
    }
  }

  async #reply(request: HubRequest): Promise<Reply> {
    if (this.#requests >= MAX_REQUESTS)
      return { error: `the hub carries out ${MAX_REQUESTS} requests at a time: try again`, text: null };
    this.#requests++;
    try {
      return await this.#carryOut(request);
    } finally {
      this.#requests--;
    }
  }

  async #carryOut(request: HubRequest): Promise<Reply> {
    if (request.kind === 'bringHosts') return this.#bringHosts(request.wanted);
    if (request.kind === 'stopAfter') return { error: 'a hub does not stop by itself', text: null };
    if (!('instanceId' in request)) return { error: 'a hub is not updated by another one', text: null };
    const instanceId = this.#lent.localIdOf(request.instanceId);
    if (instanceId === undefined)
      return { error: `instance ${request.instanceId} is not lent any more`, text: null };
    const { control } = this.#ports;
    try {
      if (request.kind === 'instanceCommand') {
        const { command, asker = this.#unnamed } = request;
        const resource = `${command} ${instanceId}`;
        await control.command(instanceId, command, asker).catch((error: unknown) => {
          this.#audit('LENT_INSTANCE_COMMAND', resource, asker, messageOf(error));
          throw error;
        });
        this.#audit('LENT_INSTANCE_COMMAND', resource, asker);
        return { error: null, text: null };
      }
      if (request.kind === 'instanceLog') {
        const { text, offset } = await control.log(instanceId, request.logType);
        return { error: null, text, ...(offset === null ? {} : { offset }) };
      }
      return { error: null, text: null, crashes: await control.crashes(instanceId) };
    } catch (error) {
      if (error instanceof HubError) return { error: error.message, text: null };
      this.#log.error({ err: error, instanceId }, 'a request of an upstream failed');
      return { error: 'the hub that lends the instance failed to carry this out', text: null };
    }
  }

  /** Takes what the upstream wants of the recipes that are lent, and answers what they can bring. */
  async #bringHosts(wanted: readonly WantedInstances[] | undefined): Promise<Reply> {
    const { recipeCapacity, upstreamWishes, runtime } = this.#ports;
    const { name, lend } = this.#settings;
    try {
      const spare = await recipeCapacity.all();
      const { isOpen, room } = this.#lent;
      const recipes = lentRecipes(lend, spare, { isOpen, room, nowMs: runtime.clock.nowMs() });
      if (wanted) upstreamWishes.set(name, wantedWithin(wanted, recipes));
      return { error: null, text: null, recipes };
    } catch (error) {
      this.#log.error({ err: error }, 'the recipes of this hub could not be told');
      return { error: 'the hub that lends hosts cannot tell its recipes now', text: null };
    }
  }

  /** The upstream itself as the one who asks, where it names no user. */
  get #unnamed(): TaskOrigin {
    return { hub: this.#settings.name, user: null };
  }

  /** `fault` is why it failed. */
  #audit(
    action: 'LENT_INSTANCE_COMMAND' | 'LOAN',
    resource: string,
    { hub, user }: TaskOrigin,
    fault?: string,
  ): void {
    const { audit, runtime } = this.#ports;
    const asked = `asked ${user === null ? '' : `by ${user} `}at ${hub}`;
    audit?.record({
      atMs: runtime.clock.nowMs(),
      user: this.#settings.name,
      by: 'UPSTREAM',
      address: null,
      action,
      resource,
      outcome: fault === undefined ? 'ALLOWED' : 'FAILED',
      status: null,
      detail: fault === undefined ? asked : `${asked}: ${fault}`,
    });
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
