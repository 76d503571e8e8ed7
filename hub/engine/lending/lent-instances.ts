/**
 * Instances that this hub lends to one upstream, as the upstream sees them. Idle ones are offered. One that this hub uses itself is
 * withdrawn at once, and offered again after it has been idle for a moment: by then no local task waits for it.
 */
import { isDeepStrictEqual } from 'node:util';
import { LENT_STATES, type LentHost, type LentState } from '@workbench-hub/shared/domain/instance';
import type { HubConnection, InstanceState } from '@workbench-hub/shared/joining/ports/hub';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { InstanceView } from '../../core/ports/nodes.js';
import type { Instances } from '../instances/instances.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import { isWithin, mayBeLent, type UpstreamSettings } from './lending-settings.js';

export interface LentInstancesOptions {
  readonly settings: UpstreamSettings;
  readonly instances: Pick<Instances, 'list' | 'find' | 'attemptOn' | 'idleSinceMsOf'>;
  readonly hostEnds: Pick<HostEnds, 'leftMsOf'>;
  /** Whether the task is a loan of the upstream that is not reported. */
  readonly isLoan: (taskId: string) => boolean;
  /** Whether no task may begin here. */
  readonly isPaused: () => boolean;
  /** Called when other instances are to be lent than those that the upstream knows. */
  readonly onOthers: () => void;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Time for which an instance that this hub has used is idle before it is offered again. */
const OFFERED_AFTER_MS = 50;
/** Time for which nothing is offered after a loan could not begin. */
const KEPT_FOR_MS = 10_000;
/** Difference up to which two ends of a host are the same. */
const SAME_END_MS = 1000;
/** Interval of the look at the hours in which instances are offered. */
const HOURS_EVERY_MS = 30_000;

export class LentInstances {
  readonly #options: LentInstancesOptions;
  /** The lent instances as they are, by their ids here. */
  #states = new Map<string, InstanceState>();
  /** The same as the upstream knows them. */
  #told = new Map<string, InstanceState>();
  /** Ends of the hosts of lent instances, as the upstream knows them. */
  readonly #toldEnds = new Map<string, { readonly hostId: string; readonly atMs: number }>();
  #connection: HubConnection | null = null;
  /** Ids of instances that may have changed. */
  readonly #changed = new Set<string>();
  #flushing: Timer | undefined;
  #reopening: Timer | undefined;
  #hours: Timer | undefined;
  #isStopped = false;
  /** Monotonic time until which nothing is offered. */
  #keptUntilMs = 0;

  constructor(options: LentInstancesOptions) {
    this.#options = options;
  }

  start(): void {
    this.#watchHours();
  }

  stop(): void {
    this.#isStopped = true;
    this.#hours?.cancel();
    this.#flushing?.cancel();
    this.#reopening?.cancel();
  }

  /** Id here of an instance with this id at the upstream; undefined when it is not lent. */
  localIdOf(upstreamId: string): string | undefined {
    const { prefix } = this.#options.settings;
    const id = upstreamId.slice(prefix.length);
    return upstreamId.startsWith(prefix) && this.#told.has(id) ? id : undefined;
  }

  /** Number of lent instances. */
  get count(): number {
    return this.#told.size;
  }

  /** Whether this is a time at which instances are offered. */
  get isOpen(): boolean {
    const { settings, isPaused, clock } = this.#options;
    return !isPaused() && isWithin(settings.lend.hours, minuteOf(clock.nowMs()));
  }

  /** Number of further instances that may be offered or on loan. */
  get room(): number {
    const { max } = this.#options.settings.lend;
    if (max === null) return Number.POSITIVE_INFINITY;
    return max - [...this.#told.values()].filter(({ lent }) => lent === 'OFFERED').length;
  }

  /** Number of lent instances by state, as the upstream knows them; none while it is not joined. */
  counts(): Record<LentState, number> {
    const isJoined = this.#connection !== null && !this.#connection.ended.aborted;
    const told = isJoined ? [...this.#told.values()] : [];
    const count = (state: LentState) => told.filter(({ lent }) => lent === state).length;
    return Object.fromEntries(LENT_STATES.map((state) => [state, count(state)])) as Record<LentState, number>;
  }

  /** All lent instances, for the introduction. */
  introduce(): InstanceState[] {
    const lent = this.#options.instances.list().filter((view) => this.#isLent(view));
    this.#states = new Map(lent.map((view) => [view.profile.id, this.#stateOf(view)]));
    const beyond = this.#beyondMax();
    this.#told = new Map([...this.#states].map(([id, state]) => [id, shown(state, beyond.has(id))]));
    this.#toldEnds.clear();
    this.#connection = null;
    return [...this.#told].map(([id, state]) => {
      const host = this.#hostOf(id);
      this.#noteEnd(id, host);
      return { ...state, host };
    });
  }

  /** The upstream knows what was introduced, since when much may have changed. */
  joined(connection: HubConnection): void {
    this.#connection = connection;
    for (const { profile } of this.#options.instances.list()) this.#changed.add(profile.id);
    this.allChanged();
  }

  /** Offers nothing for a while: this hub cannot begin loans now. */
  keepAll(): void {
    const { clock, timers } = this.#options;
    this.#keptUntilMs = clock.monotonicMs() + KEPT_FOR_MS;
    this.allChanged();
    this.#reopening?.cancel();
    this.#reopening = timers.after(KEPT_FOR_MS, () => this.allChanged());
  }

  /** An instance may have changed. */
  changed(instanceId: string): void {
    this.#changed.add(instanceId);
    this.#flushIn(0);
  }

  /** All instances may have changed. */
  allChanged(): void {
    for (const id of this.#states.keys()) this.#changed.add(id);
    this.#flushIn(0);
  }

  #flushIn(delayMs: number): void {
    if (this.#isStopped || this.#flushing) return;
    this.#flushing = this.#options.timers.after(delayMs, () => {
      this.#flushing = undefined;
      this.#flush();
    });
  }

  #flush(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    if (!this.#connection || this.#connection.ended.aborted) return;
    const updated = changed.filter((id) => this.#update(id));
    // Where not all may be offered, the change of one may be that of others.
    const isCapped = this.#options.settings.lend.max !== null;
    const beyond = this.#beyondMax();
    for (const id of isCapped ? this.#states.keys() : updated) this.#tell(id, beyond.has(id));
    if (this.#changed.size > 0) this.#flushIn(OFFERED_AFTER_MS);
  }

  /** Updates the instance. Returns false when there is nothing to tell, or it has been idle too shortly to be offered again. */
  #update(id: string): boolean {
    const { instances, onOthers } = this.#options;
    const view = instances.find(id);
    const known = this.#states.get(id);
    const isLent = view !== undefined && this.#isLent(view);
    if (isLent !== (known !== undefined)) onOthers();
    if (!isLent || !known) return false;
    if (this.#isIdleTooShortly(id)) {
      this.#changed.add(id);
      return false;
    }
    const state = this.#stateOf(view);
    if (hasOtherProfile(known, state)) onOthers();
    this.#states.set(id, state);
    return true;
  }

  #isIdleTooShortly(id: string): boolean {
    const { instances, clock } = this.#options;
    if (this.#states.get(id)?.lent === 'OFFERED') return false;
    const idleSinceMs = instances.idleSinceMsOf(id);
    return idleSinceMs !== null && clock.monotonicMs() - idleSinceMs < OFFERED_AFTER_MS;
  }

  #tell(id: string, isBeyond: boolean): void {
    const state = this.#states.get(id);
    const told = this.#told.get(id);
    if (!state || !told) return;
    const wanted = shown(state, isBeyond);
    const host = this.#hostOf(id);
    if (isSame(told, wanted) && !this.#endsOtherwise(id, host)) return;
    this.#told.set(id, wanted);
    this.#noteEnd(id, host);
    this.#connection?.sendInstance({ ...wanted, host });
  }

  /** Ids of idle instances beyond the number that may be offered or on loan. */
  #beyondMax(): ReadonlySet<string> {
    const { max } = this.#options.settings.lend;
    if (max === null) return NONE;
    const offered = [...this.#states].filter(([, { lent }]) => lent === 'OFFERED').map(([id]) => id);
    const idle = offered.filter((id) => !this.#isOnLoan(id));
    return new Set(idle.slice(Math.max(0, max - (offered.length - idle.length))));
  }

  /** Notes the end of the instance's host as the upstream knows it: the time that is left passes by itself. */
  #noteEnd(id: string, host: LentHost | undefined): void {
    if (host) this.#toldEnds.set(id, { hostId: host.id, atMs: this.#options.clock.nowMs() + host.leftMs });
    else this.#toldEnds.delete(id);
  }

  /** Whether the host of an instance ends at another time than the upstream knows. */
  #endsOtherwise(id: string, host: LentHost | undefined): boolean {
    const told = this.#toldEnds.get(id);
    if (!told || !host) return told !== undefined || host !== undefined;
    const atMs = this.#options.clock.nowMs() + host.leftMs;
    return told.hostId !== host.id || Math.abs(told.atMs - atMs) > SAME_END_MS;
  }

  #isOnLoan(id: string): boolean {
    const attempt = this.#options.instances.attemptOn(id);
    return attempt !== null && this.#options.isLoan(attempt.taskId);
  }

  #isLent({ profile }: InstanceView): boolean {
    return mayBeLent(this.#options.settings.lend, profile);
  }

  #stateOf(view: InstanceView): InstanceState {
    const { settings, clock } = this.#options;
    const { id, version, revision, labels, runs } = view.profile;
    const { status, startedAtMs } = view;
    return {
      id: `${settings.prefix}${id}`,
      version,
      revision,
      labels,
      runs,
      status: status === 'UNKNOWN' ? 'DOWN' : status,
      upForMs: startedAtMs === null ? null : Math.max(0, clock.nowMs() - startedAtMs),
      lent: this.#lentStateOf(view),
    };
  }

  /** Host of an instance with the time that is left now, if it comes and goes: that of its agent, or one of a hub below. */
  #hostOf(id: string): LentHost | undefined {
    const { instances, hostEnds, clock } = this.#options;
    const view = instances.find(id);
    if (!view) return undefined;
    const { agentId, lentHost } = view;
    if (lentHost) return { id: lentHost.id, leftMs: Math.max(0, lentHost.atMs - clock.nowMs()) };
    const leftMs = hostEnds.leftMsOf(agentId);
    return leftMs === null ? undefined : { id: agentId, leftMs };
  }

  #lentStateOf(view: InstanceView): LentState {
    const { id } = view.profile;
    // The upstream knows that the instance works for it.
    if (this.#isOnLoan(id)) return 'OFFERED';
    if (view.working) return 'IN_USE';
    const { clock, instances } = this.#options;
    const isOpen = this.isOpen && clock.monotonicMs() >= this.#keptUntilMs;
    return isOpen && instances.idleSinceMsOf(id) !== null ? 'OFFERED' : 'KEPT';
  }

  #watchHours(): void {
    if (this.#options.settings.lend.hours.length === 0) return;
    this.#hours = this.#options.timers.after(HOURS_EVERY_MS, () => {
      this.allChanged();
      this.#watchHours();
    });
  }
}

const NONE: ReadonlySet<string> = new Set();

/** The instance as the upstream is to see it. */
function shown(state: InstanceState, isBeyondMax: boolean): InstanceState {
  return isBeyondMax ? { ...state, lent: 'KEPT' } : state;
}

function minuteOf(nowMs: number): number {
  const now = new Date(nowMs);
  return now.getHours() * 60 + now.getMinutes();
}

function hasOtherProfile(told: InstanceState, state: InstanceState): boolean {
  return (
    told.version !== state.version ||
    told.revision !== state.revision ||
    !isDeepStrictEqual(told.labels, state.labels)
  );
}

/** Whether the upstream need not be told; an age grows by itself. */
function isSame(told: InstanceState, state: InstanceState): boolean {
  const isUp = (each: InstanceState) => each.upForMs !== null;
  return (
    told.status === state.status &&
    told.lent === state.lent &&
    isUp(told) === isUp(state) &&
    isDeepStrictEqual(told.runs, state.runs)
  );
}
