/** Rollouts of versions to agents. Changes are durable when their promise resolves, and reject as those of `task-queue.ts` do. */
import type { Rollout, RolloutMember } from '../agent-rollout.js';

/** Findings of a look at the agents. */
export interface RolloutLook {
  readonly target: string;
  /** Agents that are new or whose records have changed. */
  readonly changed: readonly RolloutMember[];
  /** Ids of agents that the hub knows no more. */
  readonly gone: readonly string[];
}

/** Rollouts that are kept: a hub that goes back to an earlier version finds what failed. */
export const KEPT_ROLLOUTS = 10;

export interface AgentRollouts {
  find(target: string): Promise<Rollout | undefined>;
  /** Records of the agents in a rollout, by id. */
  members(target: string): Promise<RolloutMember[]>;
  /** Begins a rollout that is not known, and removes the oldest beyond {@link KEPT_ROLLOUTS}. */
  begin(rollout: Pick<Rollout, 'target' | 'version' | 'begunAtMs'>): Promise<void>;
  /** Keeps a look, in this term of the scheduler's role only; tells whether it took place. */
  record(look: RolloutLook, term: number): Promise<boolean>;
  /** Stops a rollout until it is resumed; tells whether it was not stopped before. */
  stop(target: string, atMs: number, by: string): Promise<boolean>;
  /** Lets a rollout go on past the agents that have failed; tells whether any of this was in its way. */
  resume(target: string, atMs: number): Promise<boolean>;
}
