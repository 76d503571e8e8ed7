/** A list of tasks that loads as far as it is scrolled, and stays up to date by the stream of changes. */
import { type Hub, HubError, OverloadedError, type TaskFilter, type TaskItem } from '@workbench-hub/client';
import { Store } from '../base/store.js';
import { reachability } from '../session/reachability.js';
import type { LiveEvents, TaskEvent } from './live-events.js';
import { mergeEvents, type TaskStatus, withHead, withoutOlder } from './task-rows.js';

const WINDOW = 200;
/** Rows beyond this cannot be scrolled in a useful way; filters lead to the rest. */
const MAX_ROWS = 20_000;
/** Rows that are kept while only the newest are on the screen. */
const KEPT_ROWS = 1000;
/** Shortest time between two requests that changes cause. */
const REFRESH_MS = 1000;
const RETRY_MS = 1000;
/** Time after which a list whose filter moves with the clock asks again, though nothing has changed. */
const FILTER_CHECK_MS = 60_000;

export interface TaskListState {
  readonly rows: readonly TaskItem[];
  /** Number of all tasks that match; undefined before the first response. */
  readonly total: number | undefined;
  /** Number of tasks of each status that match but for their status. */
  readonly counts: Readonly<Record<TaskStatus, number>> | undefined;
  readonly hasMore: boolean;
  readonly isFull: boolean;
  readonly error: Error | undefined;
}

const EMPTY: TaskListState = {
  rows: [],
  total: undefined,
  counts: undefined,
  hasMore: false,
  isFull: false,
  error: undefined,
};

export class TaskList {
  readonly state = new Store<TaskListState>(EMPTY);
  /** Place in pixels to which the list was scrolled when it was left. */
  scrolledTo = 0;
  /** Index of the last row on the screen. */
  lastShown = 0;
  readonly #hub: Hub;
  readonly #live: LiveEvents;
  readonly #filterNow: () => TaskFilter;
  #filter: TaskFilter;
  #closing = new AbortController();
  #next: string | undefined;
  /** Whether rows at the end were dropped, so that there is a gap between the last one and the next window. */
  #isCut = false;
  #isBusy = false;
  #isStale = false;
  /** Whether older rows are asked for that are not loaded yet. */
  #isMoreWanted = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #refreshedAtMs = 0;
  readonly #undo: (() => void)[] = [];

  /** `filterNow` gives the filter as it is at present: one of the last hour moves with the clock. */
  constructor(hub: Hub, live: LiveEvents, filterNow: () => TaskFilter) {
    this.#hub = hub;
    this.#live = live;
    this.#filterNow = filterNow;
    this.#filter = filterNow();
  }

  /** Filter by which the list was asked for last. */
  get filter(): TaskFilter {
    return this.#filter;
  }

  /** Loads the first window and follows changes, until the returned function is called. */
  open(): () => void {
    this.#closing = new AbortController();
    const moving = setInterval(() => {
      if (this.#filterNow().from !== this.#filter.from) this.#refreshSoon();
    }, FILTER_CHECK_MS);
    this.#undo.push(
      () => clearInterval(moving),
      this.#live.onEvents((events) => this.#merge(events)),
      this.#live.onReset(() => this.#refreshSoon()),
      reachability.subscribe(() => {
        if (!reachability.get().isAway) this.#refreshSoon();
      }),
    );
    void this.#refresh();
    return () => this.#close();
  }

  #close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isBusy = false;
    this.#isMoreWanted = false;
    for (const undo of this.#undo.splice(0)) undo();
  }

  /** Loads the next window; while a request is on its way, or fails, as soon as it can be loaded. */
  async loadMore(): Promise<void> {
    this.#isMoreWanted = true;
    if (this.#isBusy) return;
    const after = this.#next;
    if (after === undefined || this.#isCut || this.state.get().rows.length >= MAX_ROWS) {
      this.#isMoreWanted = false;
      return;
    }
    await this.#alone(async () => {
      const askedAt = this.#live.received;
      const window = await this.#hub.window(this.#filter, { limit: WINDOW, after }, this.#closing.signal);
      this.#isMoreWanted = false;
      const known = new Set(this.state.get().rows.map(({ id }) => id));
      const older = window.tasks.filter(({ id }) => !known.has(id));
      this.#next = window.next;
      this.#show([...this.state.get().rows, ...older], this.#live.after(window.cursor, askedAt));
    });
  }

  /** Loads it again after a failure. */
  again(): void {
    void this.#refresh();
  }

  #merge(events: readonly TaskEvent[]): void {
    const { rows } = this.state.get();
    const { study, status = [] } = this.#filter;
    const merged = mergeEvents(
      rows,
      events.filter((event) => mayBeOf(event, study)),
      status,
    );
    this.state.set({ ...this.state.get(), rows: merged.rows });
    if (merged.isStale) this.#refreshSoon();
  }

  /** Asks for the newest window and the counts, at most once a second. */
  #refreshSoon(): void {
    this.#isStale = true;
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        void this.#refresh();
      },
      Math.max(0, this.#refreshedAtMs + REFRESH_MS - Date.now()),
    );
  }

  async #refresh(): Promise<void> {
    if (this.#isBusy) {
      this.#isStale = true;
      return;
    }
    this.#isStale = false;
    this.#refreshedAtMs = Date.now();
    this.#filter = this.#filterNow();
    await this.#alone(async () => {
      const askedAt = this.#live.received;
      const window = await this.#hub.window(this.#filter, { limit: WINDOW }, this.#closing.signal);
      const rows = this.#rowsWith(window);
      const { total, counts } = window;
      this.state.set({ ...this.state.get(), total, counts, error: undefined });
      this.#show(rows, this.#live.after(window.cursor, askedAt));
    });
  }

  /** Rows that begin with the newest window; the older ones stay as far as they are of use. */
  #rowsWith({ tasks, next }: Awaited<ReturnType<Hub['window']>>): readonly TaskItem[] {
    const rows = this.state.get().rows.filter(isSince(this.#filter.from));
    const isHeadEnough = rows.length > KEPT_ROWS && this.lastShown < WINDOW;
    const merged = isHeadEnough ? undefined : withHead(rows, tasks, next !== undefined);
    if (merged === undefined || merged.length <= tasks.length) {
      this.#next = next;
      this.#isCut = false;
      return merged ?? tasks;
    }
    if (merged.length > MAX_ROWS) this.#isCut = true;
    return merged.slice(0, MAX_ROWS);
  }

  /** Shows rows of a response, with the changes that came while it was on its way; undefined when some may be missing. */
  #show(rows: readonly TaskItem[], later: readonly TaskEvent[] | undefined): void {
    const { study, status = [] } = this.#filter;
    const events = (later ?? []).filter((event) => mayBeOf(event, study));
    const merged = mergeEvents(rows, withoutOlder(events, rows), status);
    const isFull = this.#isCut || merged.rows.length >= MAX_ROWS;
    this.state.set({
      ...this.state.get(),
      rows: merged.rows,
      hasMore: this.#next !== undefined && !isFull,
      isFull: isFull && (this.#isCut || this.#next !== undefined),
    });
    if (merged.isStale) this.#isStale = true;
  }

  async #alone(act: () => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    this.#isBusy = true;
    try {
      await act();
    } catch (error) {
      if (signal.aborted) return;
      const isFinal = error instanceof HubError && !(error instanceof OverloadedError);
      if (isFinal) this.state.set({ ...this.state.get(), error });
      else
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined;
          void this.#refresh();
        }, RETRY_MS);
      return;
    } finally {
      if (!signal.aborted) this.#isBusy = false;
    }
    if (!signal.aborted) this.#catchUp();
  }

  /** Begins what was asked for while a request was on its way. */
  #catchUp(): void {
    if (this.#isStale) this.#refreshSoon();
    if (this.#isMoreWanted) void this.loadMore();
  }
}

/** False for a task that a list by this study never has; a point that runs somewhere then makes no other list ask again. */
function mayBeOf(event: TaskEvent, study: TaskFilter['study']): boolean {
  if (event.type !== 'task' || study === undefined) return true;
  return (event.task.study?.id ?? 'none') === study;
}

/** Whether a row was requested since this time; true for each row when there is none. */
function isSince(from: TaskFilter['from']): (row: TaskItem) => boolean {
  const fromMs = Date.parse(from ?? '');
  return ({ requestedAt }) => !(Date.parse(requestedAt) < fromMs);
}
