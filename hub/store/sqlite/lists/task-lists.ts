/** Lists of tasks, answered by a thread of their own, which starts with the first list. It is told which rows have changed. */
import { Worker } from 'node:worker_threads';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { HubError } from '../../../core/errors.js';
import type { TaskPage, TaskQuery, TaskWindow, TaskWindowQuery } from '../../../core/ports/task-archive.js';
import type { Task } from '../../../core/task.js';
import { placeOf } from '../../rows/list-place.js';
import { type TaskRow, taskOfRow } from '../../rows/task-row.js';
import type { ChangedTasks } from '../rows/changed-tasks.js';
import { chunkOf } from './chunks.js';
import { ListedTasks, type ListedTasksOptions } from './listed-tasks.js';
import type {
  ChangedChunks,
  FromListThread,
  ListPage,
  ListQuery,
  ListThreadData,
  ToListThread,
} from './thread-messages.js';

/** Number of changed chunks beyond which they are not told apart. */
const MANY_CHUNKS = 1024;

/** The thread's objects are either short-lived or permanent, so a small young generation keeps its memory from staying as large as it
 *  once was. */
const LIMITS = { maxYoungGenerationSizeMb: 3 } as const;

export interface TaskListsOptions {
  readonly file: string;
  /** Writes the rows that lists read; undefined when another store does. */
  readonly rows?: Pick<ListedTasksOptions, 'db' | 'commit' | 'timers'>;
  readonly log: Logger;
}

interface Call {
  resolve(page: ListPage): void;
  reject(error: unknown): void;
}

export class TaskLists implements ChangedTasks {
  readonly #options: TaskListsOptions;
  readonly #calls = new Map<number, Call>();
  readonly #listed: ListedTasks | undefined;
  #thread: Worker | undefined;
  #latestCall = 0;
  /** Chunks with changes of which the thread was not told. */
  readonly #changed = new Set<number>();
  #closed = false;

  constructor(options: TaskListsOptions) {
    this.#options = options;
    const { rows } = options;
    if (rows) this.#listed = new ListedTasks({ ...rows, onWritten: (seqs) => this.#rowsWritten(seqs) });
  }

  added(seq: number): void {
    this.#listed?.changed(seq);
  }

  changed(seq: number): void {
    this.#listed?.changed(seq);
  }

  taskEnded(seq: number): void {
    this.#listed?.changed(seq);
  }

  removed(seq: number): void {
    this.#listed?.removed(seq);
  }

  #rowsWritten(seqs: readonly number[]): void {
    if (!this.#thread) return;
    for (const seq of seqs) if (this.#changed.size <= MANY_CHUNKS) this.#changed.add(chunkOf(seq));
  }

  async list(query: TaskQuery, signal?: AbortSignal): Promise<TaskPage> {
    const { rows, totalElements } = await this.#ask(query, signal);
    return { tasks: tasksOf(rows), totalElements };
  }

  async window({ after, size, ...filter }: TaskWindowQuery, signal?: AbortSignal): Promise<TaskWindow> {
    const below = placeOf(after);
    const { rows, window } = await this.#ask({ ...filter, page: 0, size, below }, signal);
    if (!window) throw new Error('the list thread gave no window');
    return { tasks: tasksOf(rows), next: window.next?.toString() ?? null, counts: window.counts };
  }

  async #ask(query: ListQuery, signal?: AbortSignal): Promise<ListPage> {
    await this.#listed?.upToDate().catch(unlessFull);
    return await new Promise((resolve, reject) => {
      if (this.#closed) return reject(new HubError('STORE_UNAVAILABLE', 'the hub stops'));
      if (signal?.aborted) return reject(signal.reason);
      const call = ++this.#latestCall;
      const abandon = () => {
        this.#calls.delete(call);
        this.#thread?.postMessage({ kind: 'abandon', call } satisfies ToListThread);
        reject(signal?.reason);
      };
      const settle =
        <Value>(settled: (value: Value) => void) =>
        (value: Value) => {
          signal?.removeEventListener('abort', abandon);
          settled(value);
        };
      signal?.addEventListener('abort', abandon, { once: true });
      this.#calls.set(call, { resolve: settle(resolve), reject: settle(reject) });
      this.#thread ??= this.#start();
      this.#thread.postMessage({
        kind: 'list',
        call,
        query,
        changed: this.#takeChanged(),
      } satisfies ToListThread);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#forget(new HubError('STORE_UNAVAILABLE', 'the hub stops'));
    await thread?.terminate();
  }

  #takeChanged(): ChangedChunks {
    const changed = this.#changed.size > MANY_CHUNKS ? 'MANY' : [...this.#changed];
    this.#changed.clear();
    return changed;
  }

  #start(): Worker {
    const workerData: ListThreadData = { file: this.#options.file };
    const thread = new Worker(new URL('./thread-main.js', import.meta.url), {
      workerData,
      execArgv: [],
      resourceLimits: LIMITS,
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

  /** The next list starts a new thread. */
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

/** On a full disk, lists count the rows as they are, and still show only tasks that match. */
function unlessFull(error: unknown): void {
  if (!(error instanceof HubError && error.code === 'STORAGE_FULL')) throw error;
}

function tasksOf(rows: string): Task[] {
  return (JSON.parse(rows) as TaskRow[]).map(taskOfRow);
}
