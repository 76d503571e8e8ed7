/**
 * Rules of a rollout: which agents are ordered next to update to the version of the hub (decision 0092). Groups come one after the
 * other, canaries first within each, and one failure stops all that was not ordered yet. It is a function of what agents tell.
 */
import { type AgentUpdate, versionName } from '@workbench-hub/shared/domain/agent-update';
import type { AgentFiles } from './ports/agent-files.js';

/** OPEN: not ordered yet. WAITING: ordered, and not empty, or not able for now; it holds nobody up. UNDER_WAY: fetches, restarts or is on
 *  trial. */
export type RolloutProgress = 'OPEN' | 'WAITING' | 'UNDER_WAY' | 'DONE' | 'FAILED';

/** An agent that takes part. */
export interface RolloutMember {
  readonly agentId: string;
  /** Labels of its instances. */
  readonly labels: readonly string[];
  readonly progress: RolloutProgress;
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

export function rolloutStep(members: readonly RolloutMember[], rules: RolloutRules): RolloutStep {
  const grouped = rules.groups.map((_, index) =>
    members.filter((member) => groupOf(member, rules.groups) === index),
  );
  const stoppedBy = grouped.flatMap((group) => idsOf(group, 'FAILED'));
  if (stoppedBy.length > 0) return { order: [], stoppedBy };
  const group = grouped.find((each) => !isThrough(each, rules.canaries));
  return { order: group === undefined ? [] : ordersIn(group, rules), stoppedBy: [] };
}

/** Progress of an agent that was asked; undefined for one that does not take part. */
export function progressOf(
  update: AgentUpdate,
  { version, files }: Pick<AgentFiles, 'version' | 'files'>,
): RolloutProgress | undefined {
  const file = files.find(({ system }) => system === update.system);
  if (update.unable !== null || file === undefined) return undefined;
  const target = versionName(version, file.digest);
  if (update.phase === 'WAITING') return 'WAITING';
  if (update.phase !== 'IDLE') return 'UNDER_WAY';
  if (update.running === target) return 'DONE';
  return update.failed?.name === target ? 'FAILED' : 'OPEN';
}

/** Time until the hours are over, counted from a minute of the day; 0 outside of them, and null without hours. */
export function hoursLeftMin(hours: RolloutHours | null, minuteOfDay: number): number | null {
  if (hours === null) return null;
  const length = minutesFrom(hours.from, hours.to);
  const passed = minutesFrom(hours.from, minuteOfDay);
  return Math.max(0, length - passed);
}

function minutesFrom(from: number, to: number): number {
  return (to - from + MINUTES_OF_DAY) % MINUTES_OF_DAY;
}

function groupOf({ labels }: RolloutMember, groups: readonly RolloutGroup[]): number {
  const has = new Set(labels.map((label) => label.toLowerCase()));
  return groups.findIndex((group) => group.labels.every((label) => has.has(label.toLowerCase())));
}

/** Whether the next group may begin. */
function isThrough(group: readonly RolloutMember[], canaries: number): boolean {
  const isEach = group.every(({ progress }) => progress === 'DONE' || progress === 'WAITING');
  return isEach && idsOf(group, 'DONE').length >= Math.min(canaries, group.length);
}

function ordersIn(group: readonly RolloutMember[], { canaries, atOnce }: RolloutRules): string[] {
  const missing = canaries - idsOf(group, 'DONE').length;
  const limit = missing > 0 ? Math.min(missing, atOnce) : atOnce;
  const begun = idsOf(group, 'UNDER_WAY').length + (missing > 0 ? idsOf(group, 'WAITING').length : 0);
  return idsOf(group, 'OPEN').slice(0, Math.max(0, limit - begun));
}

function idsOf(group: readonly RolloutMember[], wanted: RolloutProgress): string[] {
  return group
    .filter(({ progress }) => progress === wanted)
    .map(({ agentId }) => agentId)
    .sort();
}
