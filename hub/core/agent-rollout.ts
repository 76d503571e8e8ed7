/**
 * Rules of a rollout: which agents are ordered next to update to the version of the hub (decisions 0092, 0096). Groups come one after the
 * other, canaries first within each, and one failure stops all that was not ordered yet, until an administrator resumes it. It is a function
 * of what is kept, and of what agents tell.
 */
import { type AgentUpdate, versionName } from '@workbench-hub/shared/domain/agent-update';
import type { AgentFiles } from './ports/agent-files.js';

/** UNKNOWN: it has not told its version yet. UNABLE: hubs do not update it. OPEN: not ordered yet. WAITING: ordered, and not empty, or not
 *  able for now; it holds nobody up. UNDER_WAY: fetches, restarts or is on trial. PASSED_OVER: it had failed when an administrator resumed
 *  the rollout. */
export const ROLLOUT_PROGRESS = [
  'UNKNOWN',
  'UNABLE',
  'OPEN',
  'WAITING',
  'UNDER_WAY',
  'DONE',
  'FAILED',
  'PASSED_OVER',
] as const;
export type RolloutProgress = (typeof ROLLOUT_PROGRESS)[number];

/** An agent in a rollout, as it was seen last. */
export interface RolloutMember {
  readonly agentId: string;
  /** Place of its group in the rules, from 0 on. */
  readonly group: number;
  readonly progress: RolloutProgress;
  /** Name of the version that it runs; null while that is not known. */
  readonly running: string | null;
  /** Reason why it is not updated, could not be for now, or has failed; null for none. */
  readonly reason: string | null;
  /** End of what the failed version printed; null for none. */
  readonly log: string | null;
  /** Time of the latest change of its progress. */
  readonly changedAtMs: number;
}

/** A rollout: one target, which is a version with its files. */
export interface Rollout {
  readonly target: string;
  readonly version: string;
  readonly begunAtMs: number;
  /** Time at which an administrator stopped it, and who; null while nobody has. */
  readonly stoppedAtMs: number | null;
  readonly stoppedBy: string | null;
}

/** An agent as it is now. */
export interface PresentMember {
  readonly agentId: string;
  /** Place of its group. */
  readonly group: number;
  /** State that it has just told; undefined for one that cannot be asked. */
  readonly told: AgentUpdate | undefined;
}

/** Agents whose instances have all of these labels between them, and that are in no group before. */
export interface RolloutGroup {
  readonly labels: readonly string[];
}

export interface RolloutRules {
  readonly groups: readonly RolloutGroup[];
  /** Agents of each group that are done before the others of it begin. */
  readonly canaries: number;
  /** Agents of a group that are under way at a time. */
  readonly atOnce: number;
  /** Hours of the day in which agents are ordered and restart; null for all. */
  readonly hours: RolloutHours | null;
}

/** Minutes since midnight, in the local time of the hub; `to` may be on the next day. */
export interface RolloutHours {
  readonly from: number;
  readonly to: number;
}

/** The agents to order now; `stoppedBy` are those that have failed. */
export interface RolloutStep {
  readonly order: readonly string[];
  readonly stoppedBy: readonly string[];
}

const MINUTES_OF_DAY = 24 * 60;
const TARGET_DIGEST_LENGTH = 16;
const KEPT_FIELDS = ['group', 'progress', 'running', 'reason', 'log'] as const;

/** An agent, which cannot be ordered while it is away. */
export type MemberInRollout = Pick<RolloutMember, 'agentId' | 'group' | 'progress'> & {
  readonly isAway: boolean;
};

/** OFF: the hub updates no agents. ON_REQUEST: only those that an administrator names. STOPPED: by a failure or an administrator. WAITING_FOR_HOURS:
 *  it is not the time for it. WAITING_FOR_HUBS: hubs of several versions share the database. */
export const ROLLOUT_STATES = [
  'OFF',
  'ON_REQUEST',
  'STOPPED',
  'WAITING_FOR_HOURS',
  'WAITING_FOR_HUBS',
  'RUNNING',
  'DONE',
] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];

/** State of a rollout of a hub that has files for agents. */
export function rolloutState({
  rollout,
  rules,
  members,
  isInHours,
  areHubsAlike,
}: {
  /** Undefined before the first look. */
  readonly rollout: Rollout | undefined;
  readonly rules: RolloutRules | null;
  readonly members: readonly Pick<RolloutMember, 'group' | 'progress'>[];
  readonly isInHours: boolean;
  readonly areHubsAlike: boolean;
}): RolloutState {
  if (rules === null) return 'ON_REQUEST';
  const grouped = members.filter(({ group }) => group < rules.groups.length);
  const has = (...some: RolloutProgress[]) => grouped.some(({ progress }) => some.includes(progress));
  if (has('FAILED') || (rollout?.stoppedAtMs ?? null) !== null) return 'STOPPED';
  if (rollout && !has('OPEN', 'WAITING', 'UNDER_WAY')) return 'DONE';
  if (!isInHours) return 'WAITING_FOR_HOURS';
  return areHubsAlike ? 'RUNNING' : 'WAITING_FOR_HUBS';
}

export function rolloutStep(members: readonly MemberInRollout[], rules: RolloutRules): RolloutStep {
  const taking = members.filter(takesPart);
  const grouped = rules.groups.map((_, index) => taking.filter(({ group }) => group === index));
  const stoppedBy = grouped.flatMap((group) => idsOf(group, 'FAILED'));
  if (stoppedBy.length > 0) return { order: [], stoppedBy };
  const group = grouped.find((each) => !isThrough(each, rules.canaries));
  return { order: group === undefined ? [] : ordersIn(group, rules), stoppedBy: [] };
}

/** Name of what a rollout brings: a version with its files. */
export function rolloutTarget({ version, files }: Pick<AgentFiles, 'version' | 'files'>): string {
  const digests = files.map(({ system, digest }) => `${system}:${digest.slice(0, TARGET_DIGEST_LENGTH)}`);
  return [version, ...digests.sort()].join(' ');
}

/** Progress of an agent that was asked. */
export function progressOf(
  update: AgentUpdate,
  { version, files }: Pick<AgentFiles, 'version' | 'files'>,
): RolloutProgress {
  const file = files.find(({ system }) => system === update.system);
  if (update.unable !== null || file === undefined) return 'UNABLE';
  const target = versionName(version, file.digest);
  if (update.phase === 'WAITING') return 'WAITING';
  if (update.phase !== 'IDLE') return 'UNDER_WAY';
  if (update.running === target) return 'DONE';
  return update.failed?.name === target ? 'FAILED' : 'OPEN';
}

/** The record of an agent after a look; `isOrdered` says that its order is too recent to be repeated. */
export function memberAfter(
  kept: RolloutMember | undefined,
  { agentId, group, told }: PresentMember,
  {
    files,
    isOrdered,
    nowMs,
  }: { readonly files: AgentFiles; readonly isOrdered: boolean; readonly nowMs: number },
): RolloutMember {
  if (told === undefined) return awayMember(kept, { agentId, group, nowMs });
  const progress = progressAfter(kept?.progress, progressOf(told, files), isOrdered);
  const hasFailed = progress === 'FAILED' || progress === 'PASSED_OVER';
  const failed = hasFailed ? (failureIn(told, files) ?? kept) : undefined;
  return {
    ...{ agentId, group, progress, running: told.running },
    reason: hasFailed ? (failed?.reason ?? null) : reasonOf(told, files),
    log: failed?.log ?? null,
    changedAtMs: kept?.progress === progress ? kept.changedAtMs : nowMs,
  };
}

/** Whether two records of an agent differ. */
export function isOtherMember(one: RolloutMember | undefined, other: RolloutMember): boolean {
  return one === undefined || KEPT_FIELDS.some((field) => one[field] !== other[field]);
}

/** A failure stays until an administrator resumes the rollout, or has made the version work there. */
function progressAfter(
  kept: RolloutProgress | undefined,
  seen: RolloutProgress,
  isOrdered: boolean,
): RolloutProgress {
  if (seen === 'DONE' || seen === 'UNABLE') return seen;
  if (kept === 'FAILED' || kept === 'PASSED_OVER') return kept;
  return seen === 'OPEN' && isOrdered ? 'WAITING' : seen;
}

/** One that was ordered, and is away, restarts. */
function awayMember(
  kept: RolloutMember | undefined,
  { agentId, group, nowMs }: Pick<RolloutMember, 'agentId' | 'group'> & { readonly nowMs: number },
): RolloutMember {
  const none = { running: null, reason: null, log: null };
  if (kept === undefined) return { agentId, group, progress: 'UNKNOWN', ...none, changedAtMs: nowMs };
  return kept.progress === 'WAITING' ? { ...kept, progress: 'UNDER_WAY', changedAtMs: nowMs } : kept;
}

function reasonOf({ unable, system, problem }: AgentUpdate, { files }: AgentFiles): string | null {
  if (unable !== null) return unable;
  return files.some((file) => file.system === system)
    ? problem
    : `this hub has no file for its system, ${system}`;
}

function failureIn({ failed, system }: AgentUpdate, { version, files }: AgentFiles) {
  const file = files.find((each) => each.system === system);
  return file && failed?.name === versionName(version, file.digest) ? failed : undefined;
}

/** Time until the hours are over, counted from a minute of the day; 0 outside of them, and null without hours. */
export function hoursLeftMin(hours: RolloutHours | null, minuteOfDay: number): number | null {
  if (hours === null) return null;
  const length = minutesFrom(hours.from, hours.to);
  const passed = minutesFrom(hours.from, minuteOfDay);
  return Math.max(0, length - passed);
}

/** Minute of the day, in the local time of the hub. */
export function minuteOfDay(nowMs: number): number {
  const date = new Date(nowMs);
  return date.getHours() * 60 + date.getMinutes();
}

function minutesFrom(from: number, to: number): number {
  return (to - from + MINUTES_OF_DAY) % MINUTES_OF_DAY;
}

/** Place of the group of an agent whose instances have these labels; undefined for none. */
export function groupOf(labels: readonly string[], groups: readonly RolloutGroup[]): number | undefined {
  const has = new Set(labels.map((label) => label.toLowerCase()));
  const at = groups.findIndex((group) => group.labels.every((label) => has.has(label.toLowerCase())));
  return at < 0 ? undefined : at;
}

function takesPart({ progress, isAway }: MemberInRollout): boolean {
  if (progress === 'OPEN') return !isAway;
  return progress !== 'UNKNOWN' && progress !== 'UNABLE' && progress !== 'PASSED_OVER';
}

/** Whether the next group may begin. */
function isThrough(group: readonly MemberInRollout[], canaries: number): boolean {
  const isEach = group.every(({ progress }) => progress === 'DONE' || progress === 'WAITING');
  return isEach && idsOf(group, 'DONE').length >= Math.min(canaries, group.length);
}

function ordersIn(group: readonly MemberInRollout[], { canaries, atOnce }: RolloutRules): string[] {
  const missing = canaries - idsOf(group, 'DONE').length;
  const limit = missing > 0 ? Math.min(missing, atOnce) : atOnce;
  const begun = idsOf(group, 'UNDER_WAY').length + (missing > 0 ? idsOf(group, 'WAITING').length : 0);
  return idsOf(group, 'OPEN').slice(0, Math.max(0, limit - begun));
}

function idsOf(group: readonly MemberInRollout[], wanted: RolloutProgress): string[] {
  return group
    .filter(({ progress }) => progress === wanted)
    .map(({ agentId }) => agentId)
    .sort();
}
