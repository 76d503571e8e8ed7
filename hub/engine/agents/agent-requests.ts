/** Requests to agents, each with a deadline for its response. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentReply } from '../../core/ports/agents.js';
import { AgentUnavailable } from '../../core/ports/relay.js';

interface PendingRequest {
  readonly agentId: string;
  resolve(reply: AgentReply): void;
  reject(error: AgentUnavailable): void;
}

export class AgentRequests {
  readonly #runtime: Runtime;
  readonly #pending = new Map<string, PendingRequest>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Sends a request by `send`, which gets its id, and waits for the response; rejects with {@link AgentUnavailable}. */
  ask(agentId: string, timeoutMs: number, send: (requestId: string) => void): Promise<AgentReply> {
    const requestId = this.#runtime.newId();
    return new Promise((resolve, reject) => {
      const done = () => {
        timer.cancel();
        this.#pending.delete(requestId);
      };
      const timer = this.#runtime.timers.after(timeoutMs, () => {
        done();
        reject(new AgentUnavailable(`agent ${agentId} did not answer in ${timeoutMs / 1000} s`));
      });
      this.#pending.set(requestId, {
        agentId,
        resolve: (reply) => {
          done();
          resolve(reply);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      });
      send(requestId);
    });
  }

  /** Takes a response; one that came too late, or from another agent, is ignored. */
  replied(agentId: string, requestId: string, reply: AgentReply): void {
    const pending = this.#pending.get(requestId);
    if (pending?.agentId !== agentId) return;
    if (reply.error === null) pending.resolve(reply);
    else pending.reject(new AgentUnavailable(reply.error));
  }

  /** The agent has disconnected: its pending requests fail. */
  agentLeft(agentId: string): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.agentId === agentId) pending.reject(new AgentUnavailable(`agent ${agentId} disconnected`));
    }
  }
}
