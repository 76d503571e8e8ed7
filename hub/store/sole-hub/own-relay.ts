/** Relay of a hub that has its store alone: each request goes to its own receiver. */
import { AgentUnavailable, type Relay, type RelayReceiver } from '../../core/ports/relay.js';

export function ownRelay(): Relay {
  let receiver: RelayReceiver = async (agentId) => {
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
