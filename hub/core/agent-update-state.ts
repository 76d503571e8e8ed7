/** Updates of agents as lists show them, from what the hub knows without asking the agents (contract 12.55). */
import type { RolloutMember, RolloutProgress } from './agent-rollout.js';
import type { AgentView } from './ports/nodes.js';

/** State of an agent with respect to the version of the hub. */
export interface AgentUpdateState {
  readonly progress: RolloutProgress;
  /** Version to which the hub brings agents. */
  readonly version: string;
  /** Name of the version that it runs; null while that is not known. */
  readonly running: string | null;
  /** Reason why it is not updated, could not be for now, or has failed; null for none. */
  readonly reason: string | null;
  /** Time of the latest change of its progress; null when no rollout has it. */
  readonly changedAtMs: number | null;
}

/**
 * State of an agent by its record in the rollout, or by what it told when it joined. Undefined when neither says anything, as of a joined hub and
 * of an agent of an earlier version.
 */
export function updateStateOf(
  { version: told, installation }: Pick<AgentView, 'version' | 'installation'>,
  member: RolloutMember | undefined,
  version: string,
): AgentUpdateState | undefined {
  if (member) {
    const { progress, running, reason, changedAtMs } = member;
    return { progress, version, running, reason, changedAtMs };
  }
  const { kind } = installation;
  if (!kind) return undefined;
  const ofFile = told === version ? 'DONE' : 'UNKNOWN';
  const progress = kind === 'FILE' ? ofFile : 'UNABLE';
  return { progress, version, running: null, reason: null, changedAtMs: null };
}
