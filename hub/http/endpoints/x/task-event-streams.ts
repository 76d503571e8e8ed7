/** Streams of task events: each change is presented once for all who listen (contract 12.10). */
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { ChangePage, TaskChange } from '../../../core/ports/task-changes.js';
import type { Task } from '../../../core/task.js';
import { canCease, matchesForGood, matchesNow, type TaskFilter } from '../../../core/task-filter.js';
import type { ChangeFeed, ChangeListener } from '../../../engine/following/change-feed.js';
import { type EventConnection, eventBytes, eventText } from '../../routing/responses/event-stream.js';
import { StreamAuthorizations } from '../../routing/responses/stream-authorizations.js';
import { SharedBytes } from '../../wire/shared-bytes.js';

/** Unread bytes with which a client gets no more until it has read them. */
const MAX_UNREAD_BYTES = 256 * 1024;

/** Period of the comments that show that the stream is alive. */
const COMMENT_EVERY_MS = 15_000;

/** Delay after which a browser connects again. */
const RETRY_MS = 2000;

export interface TaskEventStreamsOptions {
  readonly feed: Pick<ChangeFeed, 'add' | 'wake'>;
  /** The body of an event. */
  readonly present: (task: Task) => object;
  readonly timers: Timers;
  readonly clock: Clock;
}

export interface StreamRequest {
  readonly filter: TaskFilter;
  /** User who listens; null while security is off. */
  readonly owner: string | null;
  /** Place to begin at. */
  readonly cursor: string;
  /** Longest time of the stream; 0 to end it when all present changes were told. */
  readonly timeoutMs: number;
}

export class TaskEventStreams {
  readonly #options: TaskEventStreamsOptions;
  readonly #authorizations: StreamAuthorizations;
  readonly #pages = new PagesOfEvents(
    (task) => this.#options.present(task),
    () => this.#listeners.size,
  );
  readonly #listeners = new Set<Listener>();
  #timer: Timer | undefined;

  constructor(options: TaskEventStreamsOptions) {
    this.#options = options;
    this.#authorizations = new StreamAuthorizations(options.clock);
  }

  /** Tells a client of all changes after the cursor, until it leaves, its time is up or it may no longer listen. */
  open(connection: EventConnection, { filter, owner, cursor, timeoutMs }: StreamRequest): void {
    const { feed, timers } = this.#options;
    const listener = new Listener({
      connection,
      filter,
      owner,
      cursor,
      endsWhenTold: timeoutMs === 0,
      pages: this.#pages,
      mayListen: this.#authorizations.of(connection),
    });
    connection.send(
      new SharedBytes(`retry: ${RETRY_MS}\n${eventText('hello', cursor, JSON.stringify({ cursor }))}`),
    );
    connection.onRead(() => feed.wake());
    this.#listeners.add(listener);
    const remove = feed.add(listener);
    const timer = timeoutMs === 0 ? undefined : timers.after(timeoutMs, () => connection.end());
    connection.onClosed(() => {
      timer?.cancel();
      remove();
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#rest();
    });
    this.#timer ??= this.#commentLater();
  }

  #commentLater(): Timer {
    return this.#options.timers.after(COMMENT_EVERY_MS, () => {
      void this.#comment().finally(() => {
        this.#timer = this.#listeners.size > 0 ? this.#commentLater() : undefined;
      });
    });
  }

  async #comment(): Promise<void> {
    const comments = new Map<string, SharedBytes>();
    for (const listener of [...this.#listeners]) {
      if (!(await listener.mayListen())) {
        listener.end();
        continue;
      }
      const { cursor } = listener;
      // The id lets a client whose filter matches little continue where it is.
      const comment = comments.get(cursor) ?? new SharedBytes(`: alive\nid: ${cursor}\n\n`);
      comments.set(cursor, comment);
      listener.comment(comment);
    }
  }

  /** Nobody listens: nothing is kept. */
  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

interface ListenerOptions {
  readonly connection: EventConnection;
  readonly filter: TaskFilter;
  readonly owner: string | null;
  readonly cursor: string;
  readonly endsWhenTold: boolean;
  readonly pages: PagesOfEvents;
  readonly mayListen: () => boolean | Promise<boolean>;
}

class Listener implements ChangeListener {
  cursor: string;
  readonly owner: string | null;
  readonly mayListen: () => boolean | Promise<boolean>;
  readonly #connection: EventConnection;
  readonly #filter: TaskFilter;
  readonly #filterKey: string;
  readonly #endsWhenTold: boolean;
  readonly #pages: PagesOfEvents;

  constructor({ connection, filter, owner, cursor, endsWhenTold, pages, mayListen }: ListenerOptions) {
    this.cursor = cursor;
    this.owner = owner;
    this.mayListen = mayListen;
    this.#connection = connection;
    this.#filter = filter;
    this.#filterKey = JSON.stringify(filter);
    this.#endsWhenTold = endsWhenTold;
    this.#pages = pages;
  }

  get isBusy(): boolean {
    return this.#connection.unreadBytes > MAX_UNREAD_BYTES;
  }

  take(page: ChangePage): void {
    const bytes = this.#pages.bytesOf(page, this.#filter, this.#filterKey);
    if (bytes.length > 0) this.#connection.send(bytes);
    if (this.#endsWhenTold && page.isLast) this.#connection.end();
  }

  reset(cursor: string): void {
    this.#connection.send(eventBytes('reset', cursor, JSON.stringify({ cursor })));
  }

  comment(bytes: SharedBytes): void {
    if (this.#connection.unreadBytes === 0) this.#connection.send(bytes);
  }

  end(): void {
    this.#connection.end();
  }
}

/** The events of pages of changes as bytes, each made once. */
class PagesOfEvents {
  readonly #present: (task: Task) => object;
  readonly #listeners: () => number;
  /** Data of each change of a page. */
  readonly #data = new WeakMap<ChangePage, string[]>();
  /** By filter. */
  readonly #bytes = new WeakMap<ChangePage, Map<string, SharedBytes>>();

  constructor(present: (task: Task) => object, listeners: () => number) {
    this.#present = present;
    this.#listeners = listeners;
  }

  bytesOf(page: ChangePage, filter: TaskFilter, filterKey: string): SharedBytes {
    const byFilter = this.#bytes.get(page) ?? new Map<string, SharedBytes>();
    this.#bytes.set(page, byFilter);
    const known = byFilter.get(filterKey);
    if (known) return known;
    const texts = page.changes.map((change, at) => this.#textOf(page, at, change, filter));
    const bytes = new SharedBytes(texts.join(''), this.#listeners());
    byFilter.set(filterKey, bytes);
    return bytes;
  }

  /** The event of a change; empty when the filter leaves it out. */
  #textOf(page: ChangePage, at: number, { cursor, taskId, task }: TaskChange, filter: TaskFilter): string {
    if (task === null) return eventText('removed', cursor, JSON.stringify({ id: taskId, deleted: true }));
    if (!matchesForGood(task, filter)) return '';
    if (matchesNow(task, filter)) return eventText('task', cursor, this.#dataOf(page, at, task));
    // It may have matched before.
    return canCease(filter)
      ? eventText('removed', cursor, JSON.stringify({ id: taskId, deleted: false }))
      : '';
  }

  #dataOf(page: ChangePage, at: number, task: Task): string {
    const data = this.#data.get(page) ?? [];
    this.#data.set(page, data);
    data[at] ??= JSON.stringify(this.#present(task));
    return data[at];
  }
}
