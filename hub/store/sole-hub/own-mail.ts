/** Mail of a hub that has its store alone: each request goes to its own receiver. */
import { AgentUnavailable, type Mail, type MailReceiver } from '../../core/ports/mail.js';

export function ownMail(): Mail {
  let receiver: MailReceiver = async (agentId) => {
    throw new AgentUnavailable(`agent ${agentId} is not connected`);
  };
  return {
    ask: (agentId, request, timeoutMs) => receiver(agentId, request, timeoutMs),
    askHub: async (hubId) => {
      throw new AgentUnavailable(`hub ${hubId} does not run`);
    },
    serve: (received) => {
      receiver = received;
    },
    serveHub: () => undefined,
  };
}
