/**
 * Passes the changes of tasks on to all who follow them. Listeners at the same place get the same page, so that its presentation
 * is shared; one that reads slowly stays behind, and continues from its own place when it has read. Nothing is kept for it.
 * Users take turns, and the other work of the hub comes between.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { SignalListener } from '../../core/ports/signals.js';
import type { ChangePage, TaskChanges } from '../../core/ports/task-changes.js';

export interface ChangeListener {
  /** Place after the changes that it was given. The feed moves it. */
  cursor: string;
  /** User who listens; null while security is off. */
  readonly owner: string | null;
  /** Whether it cannot take more at present; it calls {@link ChangeFeed.wake} when it can. */
  readonly isBusy: boolean;
  /** Whether it may still have changes; asked before each page. */
  mayListen(): boolean | Promise<boolean>;
  take(page: ChangePage): void;
  /** Changes before `cursor` cannot be told; the listener continues there. */
  reset(cursor: string): void;
  /** It gets no more. */
  end(): void;
}

export interface ChangeFeedOptions {
  readonly changes: TaskChanges;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Time in which changes are gathered: most tasks of a busy hub change more than once in it, and are passed on once. */
const GATHER_MS = 250;

/** With many listeners, changes are gathered for longer, so that passing them on takes at most this share of the time … */
const MAX_SHARE = 1 / 40;
/** … but no longer than this: who follows is told within a second. */
const MAX_GATHER_MS = 750;

/** Changes of a page: enough that most tasks of a busy hub are in it once, with all of their changes. */
const PAGE_SIZE = 1024;

/** Time after which the other work of the hub has a turn. */
const TURN_MS = 10;

/** Delay of the next try after a failure of the store. */
const RETRY_MS = 1000;

export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #listeners = new Set<ChangeListener>();
  readonly #loop: Loop;
  #unwatch: (() => void) | undefined;
  #gatherMs = GATHER_MS;
  #turnBeganMs = 0;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.#loop = new Loop({
      timers: options.timers,
      pass: () => this.#pass(),
      failed: (error) => {
        if (!this.#loop.isStopped)
          options.log.error({ err: error }, 'changes of tasks could not be read for those who follow them');
        return RETRY_MS;
      },
    });
  }

  /** Changes that other hubs have made. */
  readonly onSignal: SignalListener = {
    WAITS: () => this.#passOn(),
    OCCUPIED: () => this.#passOn(),
    RETURNED: () => this.#passOn(),
    WITHDRAWN: () => this.#passOn(),
    ENDED: () => this.#passOn(),
    CHANGED: () => this.#passOn(),
    RESYNC: () => this.#passOn(),
  };

  get listeners(): number {
    return this.#listeners.size;
  }

  /** The place after all changes so far, to begin at. */
  latest(): Promise<string> {
    return this.#options.changes.latest();
  }

  /** Adds a listener; the returned function removes it. */
  add(listener: ChangeListener): () => void {
    if (this.#loop.isStopped) {
      listener.end();
      return () => undefined;
    }
    this.#listeners.add(listener);
    this.#unwatch ??= this.#options.changes.watch(() => this.#loop.wake(this.#gatherMs));
    this.wake();
    return () => this.#remove(listener);
  }

  /** A listener can take more. */
  wake(): void {
    this.#loop.wake(this.#loop.isPassing ? this.#gatherMs : 0);
  }

  /** Ends all listeners, also those that come later. */
  async close(): Promise<void> {
    const stopped = this.#loop.stop();
    for (const listener of [...this.#listeners]) this.#end(listener);
    await stopped;
  }

  #end(listener: ChangeListener): void {
    this.#remove(listener);
    listener.end();
  }

  #remove(listener: ChangeListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  #passOn(): void {
    if (this.#listeners.size > 0) this.#loop.wake(this.#gatherMs);
  }

  /** Gives each listener that can take it the next page. */
  async #pass(): Promise<void> {
    const beganMs = this.#options.clock.monotonicMs();
    this.#turnBeganMs = beganMs;
    for (const [cursor, listeners] of inTurns(await this.#ready())) await this.#passFrom(cursor, listeners);
    const tookMs = this.#options.clock.monotonicMs() - beganMs;
    this.#gatherMs = Math.min(MAX_GATHER_MS, Math.max(GATHER_MS, tookMs / MAX_SHARE));
  }

  /** Lets the other work of the hub have its turn when this has taken long. */
  async #yield(): Promise<void> {
    const { clock, timers } = this.#options;
    if (clock.monotonicMs() - this.#turnBeganMs < TURN_MS) return;
    await new Promise<void>((resolve) => timers.soon(resolve));
    this.#turnBeganMs = clock.monotonicMs();
  }

  /** Listeners that can take more, by their places. */
  async #ready(): Promise<Map<string, ChangeListener[]>> {
    const free = [...this.#listeners].filter(({ isBusy }) => !isBusy);
    const may = await Promise.all(free.map((listener) => listener.mayListen()));
    const byCursor = new Map<string, ChangeListener[]>();
    for (const [at, listener] of free.entries()) {
      if (!this.#listeners.has(listener)) continue;
      if (!may[at]) {
        this.#end(listener);
        continue;
      }
      const others = byCursor.get(listener.cursor);
      if (others) others.push(listener);
      else byCursor.set(listener.cursor, [listener]);
    }
    return byCursor;
  }

  async #passFrom(cursor: string, listeners: readonly ChangeListener[]): Promise<void> {
    const { changes } = this.#options;
    await this.#yield();
    const page = await changes.since(cursor, PAGE_SIZE);
    const latest = page === null ? await changes.latest() : '';
    for (const listener of listeners) {
      await this.#yield();
      if (!this.#listeners.has(listener)) continue;
      listener.cursor = page?.cursor ?? latest;
      if (page === null) listener.reset(latest);
      else listener.take(page);
    }
    // Who was given a page that is not the last, or a new place, goes on at once.
    if (!page?.isLast) this.#loop.wake(0);
  }
}

/** The places in the order of turns: one place of each user, then a second one of each who listens at several, and so on. */
function inTurns(byCursor: ReadonlyMap<string, readonly ChangeListener[]>) {
  const placesOf = new Map<string, number>();
  const ranked = [...byCursor].map((place) => {
    let rank = Number.POSITIVE_INFINITY;
    for (const owner of new Set(place[1].map((listener) => listener.owner))) {
      const before = placesOf.get(owner ?? '') ?? 0;
      if (owner !== null) placesOf.set(owner, before + 1);
      rank = Math.min(rank, before);
    }
    return { rank, place };
  });
  return ranked.sort((one, other) => one.rank - other.rank).map(({ place }) => place);
}
