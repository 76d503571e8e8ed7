/** Latest output of running tasks, from the hub to which their agent is connected. */
import { AgentUnavailable, type OutputRequest, type Relay } from '../../core/ports/relay.js';
import type { Task } from '../../core/task.js';
import type { OutputTail } from './task-output.js';

/** A reader of a log waits that long for another hub. */
const OUTPUT_TIMEOUT_MS = 10_000;

export class RunningOutput {
  readonly #relay: Pick<Relay, 'ask'>;

  constructor(relay: Pick<Relay, 'ask'>) {
    this.#relay = relay;
  }

  /** The kept end of the output of the active attempt, from the place up to which it is known; undefined when there is none, or it
   *  cannot be had at present. */
  async tailOf(
    { id: taskId, instance }: Pick<Task, 'id' | 'instance'>,
    known: OutputRequest['known'] = null,
  ): Promise<OutputTail | undefined> {
    if (!instance) return undefined;
    try {
      const request = { kind: 'taskOutput', taskId, known } as const;
      const { attempt, text, offset } = await this.#relay.ask(instance.agentId, request, OUTPUT_TIMEOUT_MS);
      if (attempt === undefined || text === null) return undefined;
      return { attempt, text, start: offset ?? 0 };
    } catch (error) {
      if (error instanceof AgentUnavailable) return undefined;
      throw error;
    }
  }
}
