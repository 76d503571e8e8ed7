/** Requests that wait for the end of a task. */
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { SignalListener } from '../../core/ports/signals.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';

/** Signal that the client of a request has disconnected, such as an AbortSignal. */
export interface Disconnect {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export class ResultWaiters {
  readonly #timers: Timers;
  readonly #waiters = new Map<string, Set<() => void>>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** Resolves when the task has ended, after `timeoutMs`, or when the client has disconnected. Call it before reading the task, so
   *  that no end in between is missed. */
  wait(taskId: string, timeoutMs: number, client?: Disconnect): { ended: Promise<void>; giveUp: () => void } {
    let giveUp!: () => void;
    const ended = new Promise<void>((resolve) => {
      const timer = this.#timers.after(timeoutMs, () => giveUp());
      giveUp = () => {
        timer.cancel();
        client?.removeEventListener('abort', giveUp);
        const waiters = this.#waiters.get(taskId);
        if (waiters?.delete(giveUp) && waiters.size === 0) this.#waiters.delete(taskId);
        resolve();
      };
      const waiters = this.#waiters.get(taskId);
      if (waiters) waiters.add(giveUp);
      else this.#waiters.set(taskId, new Set([giveUp]));
      if (client?.aborted) giveUp();
      else client?.addEventListener('abort', giveUp, { once: true });
    });
    return { ended, giveUp };
  }

  readonly onSignal: SignalListener = {
    ENDED: ({ taskId }) => this.notify(taskId),
  };

  /** Ids of the tasks that are waited for. */
  get taskIds(): string[] {
    return [...this.#waiters.keys()];
  }

  /** Wakes those that wait for this task. */
  notify(taskId: string): void {
    for (const wake of this.#waiters.get(taskId) ?? []) wake();
  }

  /** Releases all, when the hub stops. */
  releaseAll(): void {
    for (const taskId of [...this.#waiters.keys()]) this.notify(taskId);
  }
}

/** Wakes those that wait for tasks that have ended or were removed, although no signal said so. Rejects as the store does. */
export async function wakeForEnded(
  waiters: Pick<ResultWaiters, 'taskIds' | 'notify'>,
  archive: Pick<TaskArchive, 'find'>,
): Promise<void> {
  await Promise.all(
    waiters.taskIds.map(async (taskId) => {
      const task = await archive.find(taskId);
      if (!task || hasEnded(task.status)) waiters.notify(taskId);
    }),
  );
}
