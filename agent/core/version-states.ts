/**
 * Versions of an agent that its hub updates: the installed file, and versions in folders beside its data. The state is one small file
 * that the launcher alone writes; each transition replaces it as a whole (decision 0092).
 *
 *     DOWNLOADED ── begun ──> TRIAL ── proven ──> PROVEN ── crashes on probation ──> FAILED
 *                               ├──── failed, or tried too often ──> FAILED
 *                               └──── a fault of the host ──> UNTRIED ── begun, after a pause ──> TRIAL
 *
 * The state lasts longer than any launcher: later versions only add optional fields.
 */

import { MAX_UPDATE_LOG_LENGTH, MAX_UPDATE_REASON_LENGTH } from '@workbench-hub/shared/domain/agent-update';

/** A version that did not prove itself. */
export interface FailedVersion {
  /** Name of its folder. */
  readonly name: string;
  readonly reason: string;
  /** End of what it printed. */
  readonly log: string;
  /** In milliseconds since 1970. */
  readonly atMs: number;
}

/** The version whose trial a fault of the host has ended, such as a full disk: it says nothing of the version. */
export interface UntriedVersion {
  /** Name of its folder. */
  readonly name: string;
  readonly reason: string;
  /** Trials in a row that ended so. */
  readonly times: number;
  /** Time of the latest one, in milliseconds since 1970. */
  readonly atMs: number;
}

export interface TrialOfVersion {
  readonly name: string;
  /** Number of starts so far. */
  readonly starts: number;
  /** Address at which the hub of the trial says that it runs. */
  readonly livenessUrl: string;
}

export interface VersionState {
  /** Build of the installed file; another one was installed since when the launcher has another. */
  readonly installed: string;
  /** Name of the folder of the version to run; null for the installed file. */
  readonly current: string | null;
  /** The version before, which is run again if the current one crashes soon. */
  readonly previous: string | null;
  /** Time at which the current version had proven itself, in milliseconds since 1970; null for the installed file. */
  readonly provenAtMs: number | null;
  /** Crashes of the current version since then. */
  readonly crashes: number;
  readonly trial: TrialOfVersion | null;
  /** Absent in states of earlier launchers. */
  readonly untried?: UntriedVersion | null;
  /** The latest versions that failed, newest first. */
  readonly failed: readonly FailedVersion[];
}

/** Starts of a trial: the machine may go down during one, and a version that takes it down must not be tried for ever. */
const MAX_TRIAL_STARTS = 3;
/** Time for which a proven version is on probation. */
const PROBATION_MS = 24 * 60 * 60_000;
/** Crashes on probation after which the version before is run again. */
const MAX_PROBATION_CRASHES = 3;
const MAX_FAILED = 5;
/** Pause before a version is tried again whose trial a fault of the host has ended; it doubles with each, up to the longest. */
const FIRST_PAUSE_MS = 10 * 60_000;
const MAX_PAUSE_MS = 60 * 60_000;

/** The state of a host whose agent was never updated. */
export function installedOnly(installed: string): VersionState {
  return {
    installed,
    current: null,
    previous: null,
    provenAtMs: null,
    crashes: 0,
    trial: null,
    untried: null,
    failed: [],
  };
}

/** The state for a launcher: a file that was installed since goes before all versions that came from a hub. */
export function stateFor(installed: string, kept: VersionState | null): VersionState {
  if (kept?.installed === installed) return kept;
  return { ...installedOnly(installed), failed: kept?.failed ?? [] };
}

/** The version to start: that of the trial, if there is one. */
export function wantedVersion({ trial, current }: VersionState): string | null {
  return trial?.name ?? current;
}

/** A downloaded version is to be tried at the next start. */
export function trialBegun(state: VersionState, name: string, livenessUrl: string): VersionState {
  return { ...state, trial: { name, livenessUrl, starts: 0 } };
}

/** A trial is about to start; it has failed when it was started too often. */
export function trialStarted(state: VersionState, nowMs: number): VersionState {
  const { trial } = state;
  if (trial === null) return state;
  if (trial.starts >= MAX_TRIAL_STARTS) {
    const reason = `it did not prove itself in ${MAX_TRIAL_STARTS} starts`;
    return trialFailed(state, { reason, log: '' }, nowMs);
  }
  return { ...state, trial: { ...trial, starts: trial.starts + 1 } };
}

/** A fault of the host has ended the trial. */
export function trialUntried(state: VersionState, reason: string, nowMs: number): VersionState {
  const { trial, untried } = state;
  if (trial === null) return state;
  const { name } = trial;
  const times = untried?.name === name ? untried.times + 1 : 1;
  const latest = { name, times, reason: reason.slice(0, MAX_UPDATE_REASON_LENGTH), atMs: nowMs };
  return { ...state, trial: null, untried: latest };
}

/** Time until a version is tried again that the host could not try; 0 for one to be tried now. */
export function untriedPauseMs({ untried }: VersionState, name: string, nowMs: number): number {
  if (untried?.name !== name) return 0;
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (untried.times - 1), MAX_PAUSE_MS);
  const leftMs = untried.atMs + pauseMs - nowMs;
  // A clock that was set back must not make it longer.
  return leftMs > pauseMs ? 0 : Math.max(0, leftMs);
}

export function trialFailed(
  state: VersionState,
  why: Pick<FailedVersion, 'reason' | 'log'>,
  nowMs: number,
): VersionState {
  if (state.trial === null) return state;
  return {
    ...state,
    ...{ trial: null, untried: null },
    failed: withFailed(state.failed, { ...why, name: state.trial.name }, nowMs),
  };
}

/** The version of the trial is the one to run from now on. */
export function trialProven(state: VersionState, nowMs: number): VersionState {
  const { trial, current } = state;
  if (trial === null) return state;
  const proven = { current: trial.name, previous: current, provenAtMs: nowMs, crashes: 0 };
  return { ...state, trial: null, untried: null, ...proven };
}

/** The current version has crashed outside of a trial: the version before is run again once that was too often on probation. */
export function crashed(
  state: VersionState,
  why: Pick<FailedVersion, 'reason' | 'log'>,
  nowMs: number,
): VersionState {
  const { provenAtMs } = state;
  if (provenAtMs === null || nowMs - provenAtMs > PROBATION_MS) return state;
  const crashes = state.crashes + 1;
  return crashes < MAX_PROBATION_CRASHES ? { ...state, crashes } : takenBack(state, why, nowMs);
}

/** The current version cannot be run: the one before is, unless that is the installed file already. */
export function takenBack(
  state: VersionState,
  why: Pick<FailedVersion, 'reason' | 'log'>,
  nowMs: number,
): VersionState {
  const { current, previous } = state;
  if (current === null) return state;
  const failed = withFailed(state.failed, { ...why, name: current }, nowMs);
  return { ...state, current: previous, previous: null, provenAtMs: null, crashes: 0, failed };
}

/** Folders that are in use, or will be. */
export function neededVersions({ current, previous, trial }: VersionState): Set<string> {
  return new Set([current, previous, trial?.name].filter((name) => typeof name === 'string'));
}

function withFailed(
  failed: readonly FailedVersion[],
  { name, reason, log }: Omit<FailedVersion, 'atMs'>,
  atMs: number,
): FailedVersion[] {
  const latest = {
    name,
    reason: reason.slice(0, MAX_UPDATE_REASON_LENGTH),
    log: log.slice(-MAX_UPDATE_LOG_LENGTH),
    atMs,
  };
  return [latest, ...failed.filter((each) => each.name !== name)].slice(0, MAX_FAILED);
}
