/** Latest output of running tasks, for reading their log before the whole log comes with the report: that is with the end, or a moment
 *  after a cancellation. */
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { SignalListener } from '../../core/ports/signals.js';
import type { RunningAttempt } from '../../core/ports/task-queue.js';
import type { TaskSubscriber } from '../../core/task-events.js';

/** Length of the kept end of each output, in UTF-16 units. */
export const MAX_TAIL_LENGTH = 256 * 1024;
/** Canceled tasks whose output is kept until their agents report: some may never do. */
export const MAX_CANCELED = 32;

interface Tail {
  readonly agentId: string;
  readonly ref: AttemptRef;
  /** Offset of the first kept character. */
  start: number;
  text: string;
}

/** The kept end of the output of an attempt. */
export interface OutputTail {
  readonly attempt: number;
  /** Offset of the first character, in UTF-16 units since the attempt began. */
  readonly start: number;
  readonly text: string;
}

export class TaskOutput {
  readonly #tails = new Map<string, Tail>();
  /** Canceled tasks with a tail, in the order of their cancellation. */
  readonly #canceled = new Set<string>();
  /** Tails that were kept when the running attempts began to be read. */
  #compared: ReadonlySet<Tail> = new Set();
  readonly #followers = new Map<string, Set<() => void>>();

  readonly onTask: TaskSubscriber = {
    STARTED: ({ agentId, ref }) => this.expect(agentId, ref),
    ADOPTED: ({ ref, instance }) => this.expect(instance.agentId, ref),
    REQUEUED: ({ task }) => this.forget(task.id),
    ENDED: ({ task }) => this.forget(task.id),
    CANCELED: ({ task }) => this.#cancel(task.id),
    FILES_KEPT: ({ ref }) => this.forget(ref.taskId),
    REMOVED: ({ taskId }) => this.forget(taskId),
  };

  /** Changes at other hubs. */
  readonly onSignal: SignalListener = {
    CANCELED: ({ ref }) => this.#cancel(ref.taskId),
    ENDED: ({ taskId }) => {
      if (this.#canceled.has(taskId)) this.#tell(taskId);
      else this.forget(taskId);
    },
    OCCUPIED: ({ ref }) => this.#tell(ref.taskId),
    RETURNED: ({ taskId }) => this.#tell(taskId),
    // The output of an agent that is no longer here is read at its next hub.
    LEFT: ({ agentId }) => this.#tellOfAgent(agentId),
    REPLACED: ({ agentId }) => this.#tellOfAgent(agentId),
    RESYNC: () => {
      for (const taskId of this.#followers.keys()) this.#tell(taskId);
    },
  };

  /** Calls `onMore` when there is more output of a task, or its attempt or status has changed, until the returned function is
   *  called. */
  follow(taskId: string, onMore: () => void): () => void {
    const followers = this.#followers.get(taskId) ?? new Set();
    this.#followers.set(taskId, followers.add(onMore));
    return () => {
      if (followers.delete(onMore) && followers.size === 0) this.#followers.delete(taskId);
    };
  }

  /** The kept end of the output of the active attempt, or of a canceled one that was not reported; undefined when there is none. */
  tailOf(taskId: string): OutputTail | undefined {
    const tail = this.#tails.get(taskId);
    return tail && { attempt: tail.ref.attempt, start: tail.start, text: tail.text };
  }

  /** This attempt on this agent is active from now on; output of it that is known is kept. */
  expect(agentId: string, ref: AttemptRef): void {
    const tail = this.#tails.get(ref.taskId);
    if (!tail || !sameAttempt(tail.ref, ref)) {
      this.#tails.set(ref.taskId, { agentId, ref, start: 0, text: '' });
      this.#tell(ref.taskId);
    }
  }

  /** Begins a comparison: the running attempts are read after this call. */
  beginComparison(): void {
    this.#compared = new Set(this.#tails.values());
  }

  /** Forgets output that was kept when the comparison began and whose attempt does not run, after signals may have been lost. That of canceled
   *  tasks stays. */
  compare(running: readonly RunningAttempt[]): void {
    const active = new Map(running.map(({ ref }) => [ref.taskId, ref]));
    for (const tail of this.#compared) {
      const { taskId } = tail.ref;
      const ref = active.get(taskId);
      if (this.#tails.get(taskId) !== tail || this.#canceled.has(taskId)) continue;
      if (!ref || !sameAttempt(ref, tail.ref)) this.forget(taskId);
    }
    this.#compared = new Set();
  }

  /** Takes a piece of output that begins at `offset`. Parts that are known already are ignored, and so is output of attempts that
   *  are not active or are another agent's. */
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
    // Cutting at twice the length keeps the cost per character constant.
    if (tail.text.length > 2 * MAX_TAIL_LENGTH) {
      const cut = tail.text.length - MAX_TAIL_LENGTH;
      tail.text = tail.text.slice(cut);
      tail.start += cut;
    }
    this.#tell(ref.taskId);
  }

  forget(taskId: string): void {
    this.#tails.delete(taskId);
    this.#canceled.delete(taskId);
    this.#tell(taskId);
  }

  #cancel(taskId: string): void {
    if (this.#tails.has(taskId)) this.#canceled.add(taskId);
    const [oldest] = this.#canceled;
    if (this.#canceled.size > MAX_CANCELED && oldest !== undefined) this.forget(oldest);
    this.#tell(taskId);
  }

  /** Tells the followers of the tasks whose output this agent sends. */
  #tellOfAgent(agentId: string): void {
    for (const taskId of this.#followers.keys())
      if (this.#tails.get(taskId)?.agentId === agentId) this.#tell(taskId);
  }

  #tell(taskId: string): void {
    for (const onMore of this.#followers.get(taskId) ?? []) onMore();
  }
}

/** The latest output for people; a first line tells how much before it is left out. */
export function readableTail(tail: OutputTail | undefined): string {
  if (!tail) return '';
  return tail.start > 0 ? `[… ${tail.start} characters before this]\n${tail.text}` : tail.text;
}
