import type { Rollout, RolloutMember, RolloutProgress } from '../../core/agent-rollout.js';

export interface RolloutRow {
  readonly target: string;
  readonly version: string;
  readonly begun_at: number;
  readonly stopped_at: number | null;
  readonly stopped_by: string | null;
}

export const ROLLOUT_COLUMNS = 'target, version, begun_at, stopped_at, stopped_by';

export function rolloutOfRow(row: RolloutRow): Rollout {
  const { target, version, begun_at, stopped_at, stopped_by } = row;
  return { target, version, begunAtMs: begun_at, stoppedAtMs: stopped_at, stoppedBy: stopped_by };
}

export interface RolloutMemberRow {
  readonly agent_id: string;
  readonly place: number;
  readonly progress: string;
  readonly running: string | null;
  readonly reason: string | null;
  readonly log: string | null;
  readonly changed_at: number;
}

export const ROLLOUT_MEMBER_COLUMNS = 'agent_id, place, progress, running, reason, log, changed_at';

export function memberOfRow(row: RolloutMemberRow): RolloutMember {
  const { agent_id, place, progress, running, reason, log, changed_at } = row;
  return {
    agentId: agent_id,
    group: place,
    progress: progress as RolloutProgress,
    ...{ running, reason, log, changedAtMs: changed_at },
  };
}

export function rowOfMember(member: RolloutMember): RolloutMemberRow {
  const { agentId, group, progress, running, reason, log, changedAtMs } = member;
  return { agent_id: agentId, place: group, progress, running, reason, log, changed_at: changedAtMs };
}
