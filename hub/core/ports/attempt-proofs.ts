/** Proofs of assignments. The store may lose a claim, and then does not know to which agent the attempt was assigned: the agent that has it
 *  shows the proof that it got. All hubs on one store make the same ones. */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

export interface AttemptProofs {
  /** The proof for the agent to which the attempt is assigned. */
  of(ref: AttemptRef, agentId: string): string;
  /** Whether `proof` is that of this attempt and this agent. */
  holds(proof: string, ref: AttemptRef, agentId: string): boolean;
}
