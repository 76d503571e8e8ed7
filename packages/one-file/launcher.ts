/**
 * The launcher: starts the version of the agent that is wanted, and takes a new one back that does not prove itself (decision 0092). It is
 * the installed file, which no update changes: what it does must hold for all later versions of the agent.
 */
import type { FromLauncher, Launch, ToLauncher } from '@workbench-hub/agent/core/ports/launcher';
import {
  crashed,
  stateFor,
  takenBack,
  trialBegun,
  trialFailed,
  trialProven,
  trialStarted,
  trialUntried,
  untriedPauseMs,
  type VersionState,
  wantedVersion,
} from '@workbench-hub/agent/core/version-states';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';

/** A started agent. */
export interface LaunchedAgent {
  readonly ended: Promise<AgentEnd>;
  /** End of what it has printed. */
  log(): string;
  send(message: FromLauncher): void;
  kill(): void;
}

export interface AgentEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Reason why it could not be started. */
  readonly fault?: string;
  /** Whether no other version could have been started either. */
  readonly isOfHost?: boolean;
}

export interface LauncherPorts {
  /** Path of the installed file. */
  readonly installed: string;
  /** Build of the installed file. */
  readonly build: string;
  /** Never throws: an agent that cannot be started has ended. */
  readonly start: (launch: Launch, onMessage: (message: ToLauncher) => void) => LaunchedAgent;
  /** Whether a hub answers at this address. */
  readonly isHubThere: (livenessUrl: string) => Promise<boolean>;
  /** Fault of this host, such as a full disk, with which no version can be tried; null for none. */
  readonly hostFault: () => Promise<string | null>;
  readonly readState: () => Promise<VersionState | null>;
  readonly writeState: (state: VersionState) => Promise<void>;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  /** Takes a sentence for the log. */
  readonly note: (sentence: string) => void;
}

const OK = 0;
const CRASHED = 1;
const REFUSED = 2;

/** Time for a trial, while its hub can be reached. With the stop that follows, the version before is back within a minute. */
export const TRIAL_LIMIT_MS = 45_000;
const TRIAL_CHECK_MS = 1000;
/** Longest time that one look counts: during a longer one, this machine has slept. */
const MAX_COUNTED_MS = 5000;
/** Time to stop for an agent that has failed; it runs no tasks. */
const STOP_LIMIT_MS = 5000;
const SAVE_AGAIN_MS = 10_000;
const MINUTE_MS = 60_000;

export class Launcher {
  readonly #ports: LauncherPorts;
  #state: VersionState;
  #agent: LaunchedAgent | null = null;
  /** End of what the agent before has printed. */
  #lastLog = '';
  /** Settles with the latest write of the state. */
  #saved: Promise<string | null> = Promise.resolve(null);
  #stops = 0;
  /** Fault of the host that the present trial has met; null for none. */
  #hostFault: string | null = null;

  private constructor(ports: LauncherPorts, state: VersionState) {
    this.#ports = ports;
    this.#state = state;
  }

  static async open(ports: LauncherPorts): Promise<Launcher> {
    return new Launcher(ports, stateFor(ports.build, await ports.readState()));
  }

  /** Runs agents until one ends for good; resolves with the exit code. */
  async run(): Promise<number> {
    for (;;) {
      await this.#beginTrial();
      // It came while no agent ran that it could be sent to.
      if (this.#stops > 0) return OK;
      const tried = this.#state.trial?.name;
      const end = await this.#runOnce();
      if (this.#stops > 0) return end.exitCode ?? CRASHED;
      if (tried !== undefined && this.#state.trial?.name === tried) await this.#giveUp(inWords(end));
      else if (this.#isOver(tried) && !(await this.#isTakenBack(end))) return end.exitCode ?? CRASHED;
    }
  }

  /** Whether no version is to be started after the end of this one, which was on trial if it has a name. */
  #isOver(tried: string | undefined): boolean {
    const { trial, current } = this.#state;
    return trial === null && (tried === undefined || tried === current);
  }

  /** End of what the latest agent has printed. */
  get lastLog(): string {
    return this.#lastLog;
  }

  /** Stops the agent in order; a second call ends it at once. */
  stop(): void {
    this.#stops++;
    this.#agent?.send({ type: 'stop' });
  }

  /** Counts the start of a trial before it begins. On a full disk, the version before is started instead. */
  async #beginTrial(): Promise<void> {
    const before = this.#state;
    if (before.trial === null) return;
    const nowMs = this.#ports.runtime.clock.nowMs();
    const fault = await this.#save(trialStarted(before, nowMs));
    if (fault !== null) this.#state = trialUntried(before, fault, nowMs);
    this.#hostFault = null;
  }

  async #runOnce(): Promise<AgentEnd> {
    const { start, note, installed } = this.#ports;
    const version = wantedVersion(this.#state);
    const { trial, untried } = this.#state;
    const launch: Launch = {
      ...{ version, isTrial: trial !== null, installed },
      ...(untried && { untried: { name: untried.name, reason: untried.reason } }),
    };
    if (launch.isTrial) note(`version ${launch.version} is on trial`);
    const agent = start(launch, (message) => void this.#answer(agent, message));
    this.#agent = agent;
    const watch = launch.isTrial ? this.#watchTrial(agent) : undefined;
    const end = await agent.ended;
    watch?.();
    this.#lastLog = agent.log();
    this.#agent = null;
    if (end.isOfHost) this.#hostFault ??= inWords(end);
    return end;
  }

  async #answer(agent: LaunchedAgent, message: ToLauncher): Promise<void> {
    const fault =
      message.type === 'try'
        ? await this.#noteTrial(message)
        : await this.#save(trialProven(this.#state, this.#ports.runtime.clock.nowMs()));
    agent.send({ type: 'answer', fault });
  }

  /** Resolves with null when a version is noted to be tried, or with the reason why it cannot be now. */
  async #noteTrial({ name, livenessUrl, again }: ToLauncher & { type: 'try' }): Promise<string | null> {
    const { hostFault, runtime } = this.#ports;
    const fault = await hostFault();
    if (fault !== null) return `version ${name} cannot be tried: ${fault}`;
    const pauseMs = untriedPauseMs(this.#state, name, runtime.clock.nowMs());
    if (pauseMs === 0 || again) return this.#save(trialBegun(this.#state, name, livenessUrl));
    const minutes = Math.ceil(pauseMs / MINUTE_MS);
    return `version ${name} could not be tried: ${this.#state.untried?.reason}; it is tried again in ${minutes} min at the earliest`;
  }

  /** Ends the agent when its time is over, which passes only while the hub can be reached; returns the end of the watch. */
  #watchTrial(agent: LaunchedAgent): () => void {
    const { runtime, isHubThere, hostFault } = this.#ports;
    const name = this.#state.trial?.name;
    let leftMs = TRIAL_LIMIT_MS;
    let countedAtMs = runtime.clock.monotonicMs();
    let isOver = false;
    const check = async () => {
      const { trial } = this.#state;
      if (isOver || trial?.name !== name || trial === undefined || trial === null) return;
      const isThere = await isHubThere(trial.livenessUrl);
      this.#hostFault ??= await hostFault();
      const nowMs = runtime.clock.monotonicMs();
      if (isThere) leftMs -= Math.min(nowMs - countedAtMs, MAX_COUNTED_MS);
      countedAtMs = nowMs;
      if (isOver || this.#state.trial?.name !== name) return;
      if (leftMs > 0) runtime.timers.after(TRIAL_CHECK_MS, () => void check());
      else await this.#endTrial(agent);
    };
    runtime.timers.after(TRIAL_CHECK_MS, () => void check());
    return () => {
      isOver = true;
    };
  }

  async #endTrial(agent: LaunchedAgent): Promise<void> {
    const reason = `it did not join its hub and finish the probe job within ${TRIAL_LIMIT_MS / 1000} s`;
    this.#lastLog = agent.log();
    await this.#giveUp(reason);
    agent.send({ type: 'stop' });
    const kill = this.#ports.runtime.timers.after(STOP_LIMIT_MS, () => agent.kill());
    void agent.ended.then(() => kill.cancel());
  }

  /** The version of the trial has failed, or the host could not try it: the one before is started next. */
  async #giveUp(reason: string): Promise<void> {
    const { runtime, note, hostFault } = this.#ports;
    const name = this.#state.trial?.name;
    const nowMs = runtime.clock.nowMs();
    const why = { reason, log: this.#lastLog };
    // A host that cannot even note the failure is no judge of the version.
    const fault =
      this.#hostFault ?? (await hostFault()) ?? (await this.#save(trialFailed(this.#state, why, nowMs)));
    const outcome = fault === null ? `has failed: ${reason}` : `could not be tried: ${fault} (${reason})`;
    note(`version ${name} ${outcome}; the version before is started again`);
    if (fault !== null) await this.#keep(trialUntried(this.#state, fault, nowMs));
  }

  /** Counts the crash of a version on probation, unless its host explains it; true when the version before is started again. */
  async #isTakenBack(end: AgentEnd): Promise<boolean> {
    // Windows tells a crash by an exit code, such as that of an access violation.
    if (end.exitCode === OK || end.exitCode === REFUSED) return false;
    const { runtime, note, hostFault } = this.#ports;
    if (end.isOfHost || (end.fault === undefined && (await hostFault()) !== null)) return false;
    const before = this.#state;
    const why = { reason: `${inWords(end)}, after it had proven itself`, log: this.#lastLog };
    const nowMs = runtime.clock.nowMs();
    const after = end.fault === undefined ? crashed(before, why, nowMs) : takenBack(before, why, nowMs);
    if (after === before) return false;
    await this.#keep(after);
    if (after.current === before.current) return false;
    note(`version ${before.current} is taken back: ${why.reason}; the version before is started again`);
    return true;
  }

  /** Takes a state also on a full disk, and writes it as soon as there is room. A launcher that starts before that knows the earlier one. */
  async #keep(state: VersionState, isWanted = () => true): Promise<void> {
    if ((await this.#save(state, isWanted)) === null) return;
    this.#state = state;
    const isLatest = () => this.#state === state;
    this.#ports.runtime.timers.after(SAVE_AGAIN_MS, () => {
      if (isLatest()) void this.#keep(state, isLatest);
    });
  }

  /** Resolves with null when the state is durable, or with the reason why it stays as it was. States are written in their order. */
  #save(state: VersionState, isWanted = () => true): Promise<string | null> {
    const saved = this.#saved.then(() => (isWanted() ? this.#write(state) : null));
    this.#saved = saved;
    return saved;
  }

  async #write(state: VersionState): Promise<string | null> {
    try {
      await this.#ports.writeState(state);
    } catch (error) {
      const fault = `the state of the versions cannot be written: ${messageOf(error)}`;
      this.#ports.note(fault);
      return fault;
    }
    this.#state = state;
    return null;
  }
}

function inWords({ exitCode, signal, fault }: AgentEnd): string {
  if (fault !== undefined) return `it could not be started: ${fault}`;
  if (signal !== null) return `it was ended by ${signal}`;
  return exitCode === OK ? 'it ended' : `it ended with exit code ${exitCode}`;
}
