/**
 * Follows the output of a task from its beginning, or from a place in it, to its end: live while an attempt runs, and from the
 * log file for what was not kept. A place is an attempt and an offset in UTF-16 units since it began.
 */
import type { Readable } from 'node:stream';
import { hasEnded, type TaskStatus } from '@workbench-hub/shared/domain/task';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { Task } from '../../core/task.js';
import type { Disconnect } from './result-waiters.js';
import type { RunningOutput } from './running-output.js';
import type { TaskOutput } from './task-output.js';

export interface LogPlace {
  readonly attempt: number;
  readonly offset: number;
}

/** `place` is the place after the event. */
export type LogEvent = { readonly place: LogPlace } & (
  | { readonly type: 'attempt'; readonly attempt: number }
  | { readonly type: 'output'; readonly attempt: number; readonly offset: number; readonly text: string }
  /** Output that is no longer kept; all of it is in the log file after the end. */
  | { readonly type: 'skipped'; readonly attempt: number; readonly offset: number; readonly to: number }
  | { readonly type: 'end'; readonly status: TaskStatus }
);

export interface LogFollowerOptions {
  /** Rejects with TASK_NOT_FOUND. */
  readonly tasks: { get(id: string): Promise<Task> };
  readonly archive: Pick<TaskArchive, 'filesOf'>;
  readonly files: Pick<BlobStore, 'find'>;
  /** Tells of more output. */
  readonly output: Pick<TaskOutput, 'follow'>;
  readonly runningOutput: Pick<RunningOutput, 'tailOf'>;
  /** Agents that are connected to this hub: only their output is told of. */
  readonly sessions: { isConnected(agentId: string): boolean };
  readonly timers: Timers;
}

/** Time after which the output of an agent at another hub is read again. */
const READ_AGAIN_MS = 500;

/** Time in which output is gathered. */
const GATHER_MS = 50;

/** Length of the text of an event. */
const MAX_TEXT_LENGTH = 16 * 1024;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  readonly #open = new Set<() => void>();
  #isClosed = false;

  constructor(options: LogFollowerOptions) {
    this.#options = options;
  }

  /** Output after a place, as it comes; ends with the task, when the client has disconnected, or with the hub. Rejects with
   *  TASK_NOT_FOUND when the task is removed meanwhile. */
  async *follow(id: string, from: LogPlace, client: Disconnect): AsyncGenerator<LogEvent> {
    const { tasks, output, timers } = this.#options;
    let wake: () => void = () => undefined;
    let isWanted = true;
    const onMore = () => {
      isWanted = true;
      wake();
    };
    const unfollow = output.follow(id, onMore);
    client.addEventListener('abort', onMore, { once: true });
    this.#open.add(onMore);
    let place = from;
    try {
      while (!client.aborted && !this.#isClosed) {
        isWanted = false;
        const task = await tasks.get(id);
        for await (const event of this.#now(task, place, client)) {
          if (client.aborted || this.#isClosed) return;
          yield event;
          place = event.place;
        }
        if (hasEnded(task.status)) return;
        const reading = this.#isElsewhere(task) ? timers.after(READ_AGAIN_MS, onMore) : undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (isWanted) resolve();
        });
        reading?.cancel();
        await pause(timers, GATHER_MS);
      }
    } finally {
      unfollow();
      client.removeEventListener('abort', onMore);
      this.#open.delete(onMore);
    }
  }

  /** Ends all, when the hub stops. */
  close(): void {
    this.#isClosed = true;
    for (const wake of this.#open) wake();
  }

  #isElsewhere({ status, instance }: Task): boolean {
    return status === 'RUNNING' && instance !== null && !this.#options.sessions.isConnected(instance.agentId);
  }

  /** Events of the log file of an ended task, or of the output of any other. */
  #now(task: Task, from: LogPlace, client: Disconnect): AsyncGenerator<LogEvent> {
    return hasEnded(task.status) ? this.#ended(task, from, client) : this.#live(task, from);
  }

  async *#live(task: Task, from: LogPlace): AsyncGenerator<LogEvent> {
    const tail = await this.#options.runningOutput.tailOf(task, from);
    if (!tail) return;
    const { attempt, start, text } = tail;
    let offset = from.offset;
    if (attempt !== from.attempt) {
      offset = 0;
      yield { type: 'attempt', attempt, place: { attempt, offset } };
    }
    if (start > offset) {
      yield { type: 'skipped', attempt, offset, to: start, place: { attempt, offset: start } };
      offset = start;
    }
    yield* outputOf(attempt, offset, text.slice(offset - start));
  }

  /** The rest of the log file, which is that of the last attempt. */
  async *#ended(task: Task, from: LogPlace, client: Disconnect): AsyncGenerator<LogEvent> {
    const { id, attempt, status } = task;
    let place = from;
    const { archive, files } = this.#options;
    const { log } = await archive.filesOf(id);
    if (!log && status === 'CANCELED') {
      for await (const event of this.#live(task, place)) {
        yield event;
        place = event.place;
      }
    }
    const file = log && (await files.find(log));
    if (file && attempt !== place.attempt) {
      place = { attempt, offset: 0 };
      yield { type: 'attempt', attempt, place };
    }
    if (file) {
      for await (const event of this.#fromFile(file.open(), place, client)) {
        yield event;
        place = event.place;
      }
    }
    yield { type: 'end', status, place };
  }

  /** Ends, and closes the file, with its client. */
  async *#fromFile(content: Readable, from: LogPlace, client: Disconnect): AsyncGenerator<LogEvent> {
    const close = () => void content.destroy();
    client.addEventListener('abort', close, { once: true });
    // Characters are decoded across chunks.
    content.setEncoding('utf8');
    let start = 0;
    let { offset } = from;
    try {
      for await (const chunk of content as AsyncIterable<string>) {
        const end = start + chunk.length;
        if (end > offset) {
          yield* outputOf(from.attempt, offset, chunk.slice(offset - start));
          offset = end;
        }
        start = end;
      }
    } catch (error) {
      if (!client.aborted) throw error;
    } finally {
      client.removeEventListener('abort', close);
      content.destroy();
    }
  }
}

function* outputOf(attempt: number, from: number, text: string): Generator<LogEvent> {
  for (let at = 0; at < text.length; ) {
    const piece = wholeCharacters(text.slice(at, at + MAX_TEXT_LENGTH), at + MAX_TEXT_LENGTH >= text.length);
    const offset = from + at;
    at += piece.length;
    yield { type: 'output', attempt, offset, text: piece, place: { attempt, offset: from + at } };
  }
}

/** The text without half a surrogate pair at its end, unless it is the last. */
function wholeCharacters(text: string, isLast: boolean): string {
  const last = text.charCodeAt(text.length - 1);
  return !isLast && text.length > 1 && last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text;
}
