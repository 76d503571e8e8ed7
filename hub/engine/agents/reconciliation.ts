/** Reconciliation of the attempts that a joining agent holds with those that the hub has on it. */
import { sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AgentConnection, AgentIntroduction, ShownAttempt } from '../../core/ports/agents.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { AttemptProofs } from '../../core/ports/attempt-proofs.js';
import type { Presence } from '../../core/ports/presence.js';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { attemptOf } from '../../core/task.js';
import { profileOf } from '../instances/instances.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { AgentSessions } from './agent-sessions.js';
import type { Attempts } from './attempts.js';

export interface ReconciliationOptions {
  readonly queue: Pick<TaskQueue, 'runningOn'>;
  readonly transitions: Pick<TaskTransitions, 'adopt'>;
  readonly attempts: Pick<Attempts, 'lose'>;
  readonly proofs: Pick<AttemptProofs, 'holds'>;
  readonly presence: Pick<Presence, 'holds'>;
  readonly allocations: Pick<Allocations, 'find'>;
  readonly sessions: Pick<AgentSessions, 'epochOf' | 'isCurrent'>;
  readonly signals: Pick<Signals, 'tell'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Adopts attempts that the agent holds, cancels those that no longer count, and requeues tasks that it no longer holds. False when the
 *  introduction is out of date: the agent has disconnected, or joined again. */
export async function reconcile(
  introduction: AgentIntroduction,
  connection: AgentConnection,
  options: ReconciliationOptions,
): Promise<boolean> {
  const { queue, attempts, presence, sessions, signals, log } = options;
  const { running, spooled } = introduction;
  const agentId = introduction.agent.id;
  const held = [...running, ...spooled];
  const isActive = await adopt(held, introduction, sessions.epochOf(agentId, connection), options);
  const known = await queue.runningOn(agentId);
  if (!sessions.isCurrent(agentId, connection)) return false;
  for (const [index, { ref }] of running.entries()) {
    if (isActive[index]) continue;
    log.info(
      { agentId, ...ref, transition: 'adopt' },
      'a transition that the attempt no longer permits was refused',
    );
    connection.cancel(ref);
  }
  const missing = known.filter((task) => {
    const ref = attemptOf(task);
    return !ref || !held.some((other) => sameAttempt(other.ref, ref));
  });
  if (missing.length === 0) return true;
  const epoch = sessions.epochOf(agentId, connection);
  // The agent may have joined another hub, of which this one has not heard: then attempts that were read may be those of that connection.
  if (epoch === undefined || !(await presence.holds(agentId, epoch))) {
    connection.close('the same agent has joined another hub');
    return false;
  }
  // A job of a workload manager runs its agent once: this is a second start, after the first host was taken away.
  const loss = (await options.allocations.find(agentId)) ? 'RETURN' : 'LOSS';
  await Promise.all(
    missing.map(async (task) => {
      await attempts.lose(task, loss, `agent ${agentId} rejoined without the attempt`);
      // A resync may have read it in the rows meanwhile, and marked its instance as occupied.
      const ref = attemptOf(task);
      if (ref) signals.tell({ kind: 'FREED', agentId, ref, coolsDown: false });
    }),
  );
  return sessions.isCurrent(agentId, connection);
}

/** Adopts attempts that the agent holds; true where the attempt is active afterwards. */
async function adopt(
  held: readonly ShownAttempt[],
  { agent, instances }: AgentIntroduction,
  epoch: number | undefined,
  { transitions, proofs, clock }: ReconciliationOptions,
): Promise<boolean[]> {
  if (held.length === 0) return [];
  const profiles = new Map(instances.map((report) => [report.id, profileOf(report)]));
  const startedAtMs = clock.nowMs();
  return transitions.adopt(
    held.map(({ ref, proof }) => ({
      ref,
      startedAtMs,
      epoch,
      isProven: proof !== null && proofs.holds(proof, ref, agent.id),
      instance: {
        id: ref.instanceId,
        version: profiles.get(ref.instanceId)?.version ?? '',
        revision: profiles.get(ref.instanceId)?.revision ?? '',
        agentId: agent.id,
      },
    })),
  );
}
