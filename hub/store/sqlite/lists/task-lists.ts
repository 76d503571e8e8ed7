/**
 * Lists of tasks, answered by a thread of their own. It starts with the first list, in a large store also without one. It is
 * told which tasks have changed, and finds new ones itself.
 */
import { Worker } from 'node:worker_threads';
import { COLUMNS_THREAD_LIMITS } from '@workbench-hub/list-columns/thread-limits';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { HubError, invalidInput } from '../../../core/errors.js';
import type {
  ListClient,
  TaskPage,
  TaskQuery,
  TaskWindow,
  TaskWindowQuery,
} from '../../../core/ports/task-archive.js';
import type { Task } from '../../../core/task.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import type { FromListThread, ListPage, ListQuery, ListThreadData, ToListThread } from './thread-messages.js';

/** Number of tasks above which the thread starts with the first changes, without waiting for a list: reading that many takes
 *  about a tenth of a second. */
const SMALL_STORE_TASKS = 50_000;

/** Number of changes after which they are sent to the thread without waiting for a list, so that a list has few to apply. */
const CHANGES_AT_ONCE = 4096;

/** Maximum pending lists of one client, and of all. */
const MAX_LISTS_OF_CLIENT = 64;
const MAX_LISTS = 512;

/** Time after which most pending lists are answered. */
const RETRY_AFTER_S = 1;

/** Client name of the hub itself, which is never refused. */
const HUB = '';

export interface TaskListsOptions {
  readonly file: string;
  readonly timers: Timers;
  readonly log: Logger;
}

interface Call {
  readonly client: string;
  resolve(page: ListPage): void;
  reject(error: unknown): void;
}

export class TaskLists implements ChangedTasks {
  readonly #options: TaskListsOptions;
  readonly #calls = new Map<number, Call>();
  #thread: Worker | undefined;
  #latestCall = 0;
  readonly #changed = new Set<number>();
  #changes = 0;
  #newest = 0;
  #closed = false;

  constructor(options: TaskListsOptions) {
    this.#options = options;
  }

  added(seq: number): void {
    this.#newest = Math.max(this.#newest, seq);
    this.#count();
  }

  changed(seq: number): void {
    if (!this.#thread) return;
    this.#changed.add(seq);
    this.#count();
  }

  taskEnded(seq: number): void {
    this.changed(seq);
  }

  removed(seq: number): void {
    this.changed(seq);
  }

  async list(query: TaskQuery, client?: ListClient): Promise<TaskPage> {
    const { rows, totalElements } = await this.#ask(query, client);
    return { tasks: tasksOf(rows), totalElements };
  }

  async window({ after, size, ...filter }: TaskWindowQuery, client: ListClient): Promise<TaskWindow> {
    const below = after === null ? Number.MAX_SAFE_INTEGER : placeOf(after);
    const { rows, window } = await this.#ask({ ...filter, page: 0, size, below }, client);
    if (!window) throw new Error('the list thread gave no window');
    return { tasks: tasksOf(rows), next: window.next?.toString() ?? null, counts: window.counts };
  }

  #ask(query: ListQuery, client?: ListClient): Promise<ListPage> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new HubError('STORE_UNAVAILABLE', 'the hub stops'));
      if (client?.signal.aborted) return reject(abandoned());
      if (client) this.#refuseTooMany(client.name);
      const call = ++this.#latestCall;
      const abandon = () => this.#abandon(call);
      const settle =
        <Value>(settled: (value: Value) => void) =>
        (value: Value) => {
          client?.signal.removeEventListener('abort', abandon);
          settled(value);
        };
      client?.signal.addEventListener('abort', abandon, { once: true });
      const name = client?.name ?? HUB;
      this.#calls.set(call, { client: name, resolve: settle(resolve), reject: settle(reject) });
      this.#send({ kind: 'list', call, client: name, query, changed: this.#takeChanged() });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#forget(new HubError('STORE_UNAVAILABLE', 'the hub stops'));
    await thread?.terminate();
  }

  /** Throws OVERLOADED. */
  #refuseTooMany(client: string): void {
    const clients = [...this.#calls.values()].map((call) => call.client).filter((name) => name !== HUB);
    if (clients.filter((name) => name === client).length >= MAX_LISTS_OF_CLIENT) {
      throw overloaded(`${MAX_LISTS_OF_CLIENT} lists that you asked for are not answered yet`);
    }
    if (clients.length >= MAX_LISTS) throw overloaded(`${MAX_LISTS} lists are not answered yet`);
  }

  #abandon(call: number): void {
    const pending = this.#calls.get(call);
    this.#calls.delete(call);
    pending?.reject(abandoned());
    this.#thread?.postMessage({ kind: 'abandon', call } satisfies ToListThread);
  }

  #count(): void {
    this.#changes++;
    if (this.#changes < CHANGES_AT_ONCE) return;
    this.#changes = 0;
    if (!this.#thread && this.#newest < SMALL_STORE_TASKS) return;
    // After the commit of the transaction.
    this.#options.timers.soon(() => {
      if (!this.#closed) this.#send({ kind: 'keep up', changed: this.#takeChanged() });
    });
  }

  #takeChanged(): Float64Array<ArrayBuffer> {
    const changed = Float64Array.from(this.#changed);
    this.#changed.clear();
    this.#changes = 0;
    return changed;
  }

  #send(message: Exclude<ToListThread, { kind: 'abandon' }>): void {
    this.#thread ??= this.#start();
    this.#thread.postMessage(message, [message.changed.buffer]);
  }

  #start(): Worker {
    const workerData: ListThreadData = { file: this.#options.file };
    const thread = new Worker(new URL('./thread-main.js', import.meta.url), {
      workerData,
      execArgv: [],
      resourceLimits: COLUMNS_THREAD_LIMITS,
    });
    thread.unref();
    thread.on('message', (message: FromListThread) => this.#settle(message));
    thread.on('error', (error) => this.#broken(thread, error));
    thread.on('exit', (code) => this.#broken(thread, new Error(`it ended with ${code}`)));
    return thread;
  }

  #settle(message: FromListThread): void {
    const call = this.#calls.get(message.call);
    if (!call) return;
    this.#calls.delete(message.call);
    if (message.kind === 'page') call.resolve(message.page);
    else call.reject(this.#unavailable(message.error));
  }

  /** The next list starts a new thread, which reads everything again. */
  #broken(thread: Worker, error: Error): void {
    if (this.#thread === thread) this.#forget(this.#unavailable(error));
  }

  #forget(reason: HubError): void {
    this.#thread = undefined;
    this.#changed.clear();
    for (const call of this.#calls.values()) call.reject(reason);
    this.#calls.clear();
  }

  #unavailable(cause: unknown): HubError {
    this.#options.log.error({ err: cause }, 'the list of tasks could not be read');
    return new HubError('STORE_UNAVAILABLE', 'the hub cannot read its list of tasks', { cause });
  }
}

function abandoned(): HubError {
  return new HubError('INVALID_INPUT', 'the request was broken off');
}

function overloaded(why: string): HubError {
  return new HubError('OVERLOADED', `the hub has more to do than it can: ${why}; try again later`, {
    retryAfterS: RETRY_AFTER_S,
  });
}

function tasksOf(rows: string): Task[] {
  return (JSON.parse(rows) as TaskRow[]).map(taskOfRow);
}

/** The `seq` in a place after a window. */
function placeOf(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw invalidInput([{ where: 'after', what: 'must be the "next" of an earlier response' }]);
}
