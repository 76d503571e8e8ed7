/** Lists of tasks, at whose reading clients take turns. */
import type {
  TaskArchive,
  TaskPage,
  TaskQuery,
  TaskWindow,
  TaskWindowQuery,
} from '../../core/ports/task-archive.js';
import { type ListClient, ListTurns } from './list-turns.js';

export class TaskLists {
  readonly #archive: Pick<TaskArchive, 'list' | 'window'>;
  readonly #turns = new ListTurns();

  constructor(archive: Pick<TaskArchive, 'list' | 'window'>) {
    this.#archive = archive;
  }

  /** Without a client for the hub itself. Rejects as {@link ListTurns.run}. */
  list(query: TaskQuery, client?: ListClient): Promise<TaskPage> {
    return this.#turns.run(client, (signal) => this.#archive.list(query, signal));
  }

  /** Rejects as {@link list}, and with INVALID_INPUT for an invalid place. */
  window(query: TaskWindowQuery, client: ListClient): Promise<TaskWindow> {
    return this.#turns.run(client, (signal) => this.#archive.window(query, signal));
  }
}
