/** Requests about the agents of this hub, from this hub or another. */
import type { MailReceiver } from '../core/ports/mail.js';
import type { AgentSessions } from './agent-sessions.js';
import type { TaskOutput } from './task-output.js';

export function mailReceiver(
  sessions: Pick<AgentSessions, 'request'>,
  output: Pick<TaskOutput, 'tailOf'>,
): MailReceiver {
  return async (agentId, request, timeoutMs) => {
    if (request.kind !== 'taskOutput') return sessions.request(agentId, request, timeoutMs);
    const tail = output.tailOf(request.taskId);
    if (!tail) return { error: null, text: null };
    return { error: null, text: tail.text, offset: tail.start, attempt: tail.attempt };
  };
}
