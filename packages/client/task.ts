import { type Connection, type ContentOptions, contentRequest } from './connection.js';
import { isCode, NotFoundError } from './errors.js';
import { taskEvents } from './events.js';
import type {
  SignedManifest,
  TaskDetails,
  TaskExplanation,
  TaskItem,
  TaskOutputFile,
  TaskOutputFiles,
  TaskWindow,
} from './generated/types.gen.js';
import { type LogEvent, taskLog } from './log.js';
import { Delays, overOutages } from './outages.js';

export type TaskStatus = TaskItem['status'];

const ENDED: ReadonlySet<TaskStatus> = new Set(['FINISHED', 'FAILED', 'CANCELED']);

/** Longest delay between two looks at a task that is not followed; it doubles up to this. */
const LONGEST_LOOK_MS = 4000;

export interface RunOptions {
  /** Ends the waiting, not the task. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the task at its creation and at each change. */
  readonly onChange?: (task: TaskItem) => void;
  /** Called with what the scripts print. */
  readonly onOutput?: (text: string) => void;
}

/** A task of the hub. */
export class Task {
  readonly id: string;
  readonly #connection: Connection;

  constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.id = id;
  }

  /** All that the hub knows of it. */
  details(signal?: AbortSignal): Promise<TaskDetails> {
    return this.#connection.json(this.#path(), { signal });
  }

  /**
   * Waits for the end of the task, over restarts of the hub; resolves with all that is known of it. Rejects with
   * {@link NotFoundError} when the task is deleted meanwhile.
   */
  async wait({ signal, onChange, onOutput }: RunOptions = {}): Promise<TaskDetails> {
    const printing = new AbortController();
    const stop = signal ? AbortSignal.any([signal, printing.signal]) : printing.signal;
    let printed: Promise<void> | undefined;
    let ended: TaskItem | undefined;
    const changed = (task: TaskItem) => {
      // The end is told after the last line of the scripts, other states before the next one.
      if (ENDED.has(task.status)) ended = task;
      else onChange?.(task);
      if (onOutput && task.status !== 'WAITING') printed ??= this.#print(onOutput, stop);
      // Awaited at the end.
      printed?.catch(() => undefined);
    };
    try {
      await this.#end(signal, changed);
      await printed;
      if (ended) onChange?.(ended);
      return await overOutages(this.#connection, () => this.details(signal), signal);
    } finally {
      printing.abort();
    }
  }

  /** Yields what its scripts print, from the beginning to the end of the task. */
  log(signal?: AbortSignal): AsyncGenerator<LogEvent, void> {
    return taskLog(this.#connection, this.id, signal);
  }

  /** The log so far, as one text. */
  async logText(signal?: AbortSignal): Promise<string> {
    const path = `/api/2.0/workbench/task/${encodeURIComponent(this.id)}/log`;
    return this.#connection.text(path, { signal });
  }

  /** The output files, by path. */
  async outputs(signal?: AbortSignal): Promise<readonly TaskOutputFile[]> {
    return (await this.#connection.json<TaskOutputFiles>(`${this.#path()}/outputs`, { signal })).files;
  }

  /** Content of an output file. */
  async output(path: string, options: ContentOptions = {}): Promise<Response> {
    return this.#connection.request(
      `${this.#path()}/outputs/${encodeURIComponent(path)}`,
      contentRequest(options),
    );
  }

  /** Content of an input file, by its path in the details. */
  async input(path: string, signal?: AbortSignal): Promise<Response> {
    return this.#connection.request(`${this.#path()}/inputs/${encodeURIComponent(path)}`, { signal });
  }

  /** Manifest of the result, signed by the hub; `verifyManifest` checks the signature. Rejects with {@link NotFoundError} before the task
   *  has ended. */
  manifest(signal?: AbortSignal): Promise<SignedManifest> {
    return this.#connection.json(`${this.#path()}/manifest`, { signal });
  }

  /** Why it waits, and what would help. */
  explain(): Promise<TaskExplanation> {
    return this.#connection.json(`${this.#path()}/explain`);
  }

  /** Cancels the task; with `force`, also while it runs. */
  async cancel({ force = false } = {}): Promise<void> {
    await this.#connection.request(this.#legacyPath('cancel'), { method: 'DELETE', query: { force } });
  }

  /** Removes the ended task with its files. */
  async delete(): Promise<void> {
    await this.#connection.request(this.#legacyPath('delete'), { method: 'DELETE' });
  }

  async #end(signal: AbortSignal | undefined, onChange: (task: TaskItem) => void): Promise<void> {
    let { task, cursor } = await this.#present(signal);
    for (;;) {
      onChange(task);
      if (ENDED.has(task.status)) return;
      try {
        const since = cursor;
        const follow = () => this.#endAfter(since, signal, onChange);
        if (await overOutages(this.#connection, follow, signal)) return;
      } catch (error) {
        if (!isCode(error, 'TOO_MANY_STREAMS')) throw error;
        return this.#endWithoutStream(task, signal, onChange);
      }
      ({ task, cursor } = await overOutages(this.#connection, () => this.#present(signal), signal));
    }
  }

  /** The task, and the cursor of the changes after it. */
  async #present(signal: AbortSignal | undefined): Promise<{ task: TaskItem; cursor: string }> {
    const { tasks, cursor } = await this.#connection.json<TaskWindow>('/api/x/tasks', {
      query: { id: this.id },
      signal,
    });
    const [task] = tasks;
    if (!task) throw this.#removed();
    return { task, cursor };
  }

  /** Looks at the task until it has ended: its user has as many streams as there may be. */
  async #endWithoutStream(
    before: TaskItem,
    signal: AbortSignal | undefined,
    onChange: (task: TaskItem) => void,
  ): Promise<void> {
    const delays = new Delays(LONGEST_LOOK_MS);
    for (let told = JSON.stringify(before); ; ) {
      await delays.pause(signal);
      const { task } = await overOutages(this.#connection, () => this.#present(signal), signal);
      const text = JSON.stringify(task);
      if (text === told) continue;
      told = text;
      delays.reset();
      onChange(task);
      if (ENDED.has(task.status)) return;
    }
  }

  /** False when the changes after the cursor are unknown. */
  async #endAfter(
    since: string,
    signal: AbortSignal | undefined,
    onChange: (task: TaskItem) => void,
  ): Promise<boolean> {
    const options = { filter: { id: this.id }, since, signal, finalCode: 'TOO_MANY_STREAMS' };
    for await (const event of taskEvents(this.#connection, options)) {
      if (event.type === 'reset') return false;
      // The hub tells of each task that is deleted, whatever the filter.
      if (event.type === 'removed' && event.id === this.id) throw this.#removed();
      if (event.type !== 'task') continue;
      onChange(event.task);
      if (ENDED.has(event.task.status)) return true;
    }
    return false;
  }

  async #print(onOutput: (text: string) => void, signal: AbortSignal): Promise<void> {
    for await (const event of this.log(signal)) if (event.type === 'output') onOutput(event.text);
  }

  #removed(): NotFoundError {
    const headers = new Headers({ 'x-error-code': 'TASK_NOT_FOUND' });
    return new NotFoundError(`task ${this.id} was deleted`, { status: 404, headers });
  }

  #path(): string {
    return `/api/x/tasks/${encodeURIComponent(this.id)}`;
  }

  #legacyPath(action: string): string {
    return `/api/2.0/workbench/task/${encodeURIComponent(this.id)}/${action}`;
  }
}
