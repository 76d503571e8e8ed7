/** What running tasks have printed lately, for reading their log before they end. The whole log comes with the report. */
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { TaskSubscriber } from '../core/task-events.js';

/** Of each running task, this much of the end of its output is kept. */
export const MAX_TAIL_LENGTH = 256 * 1024;

interface Tail {
  readonly agentId: string;
  readonly ref: AttemptRef;
  /** Offset of the first character that is kept. */
  start: number;
  text: string;
}

export class TaskOutput {
  readonly #tails = new Map<string, Tail>();

  readonly onTask: TaskSubscriber = {
    STARTED: ({ agentId, ref }) => this.expect(agentId, ref),
    REQUEUED: ({ task }) => this.forget(task.id),
    ENDED: ({ task }) => this.forget(task.id),
    CANCELED: ({ task }) => this.forget(task.id),
  };

  /** This attempt of the task is in force from now on, on this agent; what is known of its output stays known. */
  expect(agentId: string, ref: AttemptRef): void {
    const tail = this.#tails.get(ref.taskId);
    if (!tail || !sameAttempt(tail.ref, ref)) {
      this.#tails.set(ref.taskId, { agentId, ref, start: 0, text: '' });
    }
  }

  /** Takes a piece that begins at `offset` of the attempt's output; what is known already is passed over, and so is
   *  what an attempt prints that is not in force, and what another agent says of it. */
  append(agentId: string, ref: AttemptRef, offset: number, text: string): void {
    const tail = this.#tails.get(ref.taskId);
    if (!tail || tail.agentId !== agentId || !sameAttempt(tail.ref, ref)) return;
    const end = tail.start + tail.text.length;
    if (offset > end) {
      tail.start = offset;
      tail.text = text;
    } else {
      tail.text += text.slice(end - offset);
    }
    // Cutting at twice the size keeps the cost of cutting constant for each character.
    if (tail.text.length > 2 * MAX_TAIL_LENGTH) {
      const cut = tail.text.length - MAX_TAIL_LENGTH;
      tail.text = tail.text.slice(cut);
      tail.start += cut;
    }
  }

  /** The latest output; a line at the top says when something before it is left out. */
  read(taskId: string): string {
    const tail = this.#tails.get(taskId);
    if (!tail) return '';
    return tail.start > 0 ? `[… ${tail.start} characters before this]\n${tail.text}` : tail.text;
  }

  forget(taskId: string): void {
    this.#tails.delete(taskId);
  }
}
