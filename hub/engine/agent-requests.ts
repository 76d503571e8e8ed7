/** Questions to agents and their answers, each within a deadline. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';

/** The agent did not do what it was asked for, or did not answer. */
export class AgentUnavailable extends Error {
  override readonly name = 'AgentUnavailable';
}

interface PendingRequest {
  readonly agentId: string;
  resolve(text: string | null): void;
  reject(error: AgentUnavailable): void;
}

/** Answers are due within this time (contract 6.3). */
const REQUEST_TIMEOUT_MS = 10_000;

export class AgentRequests {
  readonly #runtime: Runtime;
  readonly #pending = new Map<string, PendingRequest>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Sends a request by `send`, which gets its id, and waits for the answer; rejects with {@link AgentUnavailable}. */
  ask(agentId: string, send: (requestId: string) => void): Promise<string | null> {
    const requestId = this.#runtime.newId();
    return new Promise((resolve, reject) => {
      const settled = () => {
        timer.cancel();
        this.#pending.delete(requestId);
      };
      const timer = this.#runtime.timers.after(REQUEST_TIMEOUT_MS, () => {
        settled();
        reject(new AgentUnavailable(`agent ${agentId} did not answer in ${REQUEST_TIMEOUT_MS / 1000} s`));
      });
      this.#pending.set(requestId, {
        agentId,
        resolve: (text) => {
          settled();
          resolve(text);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      send(requestId);
    });
  }

  /** An answer has come; one that nobody waits for any more, or of an agent that was not asked, is passed over. */
  answered(agentId: string, requestId: string, error: string | null, text: string | null): void {
    const pending = this.#pending.get(requestId);
    if (pending?.agentId !== agentId) return;
    if (error === null) pending.resolve(text);
    else pending.reject(new AgentUnavailable(error));
  }

  /** The agent went away: nothing that it was asked will be answered. */
  agentLeft(agentId: string): void {
    for (const pending of [...this.#pending.values()]) {
      if (pending.agentId === agentId) pending.reject(new AgentUnavailable(`agent ${agentId} went away`));
    }
  }
}
