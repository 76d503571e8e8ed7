/** Requests about the agents of this hub, from this hub or another. */
import type { RelayReceiver } from '../../core/ports/relay.js';
import type { TaskOutput } from '../following/task-output.js';
import type { AgentSessions } from './agent-sessions.js';

export function relayReceiver(
  sessions: Pick<AgentSessions, 'request'>,
  output: Pick<TaskOutput, 'tailOf'>,
): RelayReceiver {
  return async (agentId, request, timeoutMs) => {
    if (request.kind !== 'taskOutput') return sessions.request(agentId, request, timeoutMs);
    const tail = output.tailOf(request.taskId);
    if (!tail) return { error: null, text: null };
    const { attempt, text, start } = tail;
    const known = request.known?.attempt === attempt ? request.known.offset : 0;
    const offset = Math.min(Math.max(known, start), start + text.length);
    return { error: null, text: text.slice(offset - start), offset, attempt };
  };
}
