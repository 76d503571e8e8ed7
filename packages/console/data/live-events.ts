/** Changes of tasks for all tabs of this browser by one stream: one tab reads it, and passes each batch on to the others. */
import { AuthenticationError, type Hub, type HubEvent } from '@workbench-hub/client';
import { Store } from '../base/store.js';

const NAME = 'workbench-live';
const BATCH_MS = 100;
const RETRY_MS = 2000;
/** Events kept for lists whose response is still on its way. */
const KEPT_EVENTS = 5000;

export type TaskEvent = Extract<HubEvent, { type: 'task' | 'removed' }>;

/** `asks`: a tab has been opened; `at`: cursor from which on it will hear of all changes. */
type Message = { readonly events: readonly HubEvent[] } | { readonly asks: true } | { readonly at: string };

export class LiveEvents {
  /** Whether this tab or another one is connected. */
  readonly isLive = new Store(false);
  readonly #hub: Hub;
  readonly #channel = new BroadcastChannel(NAME);
  readonly #listeners = new Set<(events: readonly TaskEvent[]) => void>();
  readonly #resetListeners = new Set<() => void>();
  #kept: TaskEvent[] = [];
  /** Place of the first of them among all that were received. */
  #keptFrom = 0;
  /** Cursor from which on this tab knows every change; undefined before the first one. */
  #knownFrom: string | undefined;
  #latest: string | undefined;
  #isLeader = false;
  #isClosed = false;

  constructor(hub: Hub) {
    this.#hub = hub;
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#receive(data));
  }

  /** Follows until the page is left. */
  start(): void {
    this.#channel.postMessage({ asks: true } satisfies Message);
    // Browsers have no locks on a page without TLS: then each tab has a stream of its own.
    if (navigator.locks) void navigator.locks.request(NAME, () => this.#lead());
    else void this.#lead();
  }

  /** Hears of nothing any more. */
  close(): void {
    this.#isClosed = true;
    this.#channel.close();
  }

  /** Calls back with each batch of changes, until the returned function is called. */
  onEvents(listener: (events: readonly TaskEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls back when changes may be missing, until the returned function is called. */
  onReset(listener: () => void): () => void {
    this.#resetListeners.add(listener);
    return () => void this.#resetListeners.delete(listener);
  }

  /** Place behind all that this tab has received, for {@link after}. */
  get received(): number {
    return this.#keptFrom + this.#kept.length;
  }

  /**
   * Changes that a response with this cursor may not show; undefined when some may be missing. Where the cursor is that of no
   * change known here, all since the place at which it was asked for: some of them may be older than the response.
   */
  after(cursor: string, askedAt: number): readonly TaskEvent[] | undefined {
    const at = this.#kept.findLastIndex((event) => event.cursor === cursor);
    if (at >= 0) return this.#kept.slice(at + 1);
    if (cursor === this.#knownFrom) return [...this.#kept];
    if (this.#knownFrom === undefined || askedAt < this.#keptFrom) return undefined;
    return this.#kept.slice(askedAt - this.#keptFrom);
  }

  async #lead(): Promise<void> {
    this.#isLeader = true;
    while (!this.#isClosed) {
      try {
        await this.#follow();
      } catch (error) {
        // Nobody is logged in, or the hub refused: the reader of the stream itself survives all else.
        if (!(error instanceof AuthenticationError)) console.error(error);
      }
      this.isLive.set(false);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async #follow(): Promise<void> {
    let batch: HubEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let flushedAtMs = Number.NEGATIVE_INFINITY;
    const flush = () => {
      clearTimeout(timer);
      timer = undefined;
      if (batch.length === 0 || this.#isClosed) return;
      const events = batch;
      batch = [];
      flushedAtMs = performance.now();
      this.#channel.postMessage({ events } satisfies Message);
      this.#take(events);
    };
    try {
      const since = this.#latest;
      // Refused by this limit, the tab is not live until a later try.
      const options = { finalCode: 'TOO_MANY_STREAMS', ...(since === undefined ? {} : { since }) };
      for await (const event of this.#hub.events(options)) {
        this.isLive.set(true);
        batch.push(event);
        // Browsers let timers of a hidden tab wait, so the timer is only for what comes soon after another batch.
        const restMs = flushedAtMs + BATCH_MS - performance.now();
        if (restMs <= 0) flush();
        else timer ??= setTimeout(flush, restMs);
      }
    } finally {
      flush();
    }
  }

  #receive(message: Message): void {
    if ('events' in message) {
      this.isLive.set(true);
      this.#take(message.events);
    } else if ('asks' in message) {
      if (this.#isLeader && this.#latest !== undefined)
        this.#channel.postMessage({ at: this.#latest } satisfies Message);
    } else if (this.#knownFrom === undefined) {
      this.isLive.set(true);
      this.#begin(message.at);
    }
  }

  #take(events: readonly HubEvent[]): void {
    const changes: TaskEvent[] = [];
    for (const event of events) {
      const { cursor } = event;
      if (event.type === 'task' || event.type === 'removed') {
        if (this.#knownFrom === undefined) this.#begin(cursor);
        changes.push(event);
        this.#kept.push(event);
      } else if (event.type === 'reset' || this.#knownFrom === undefined) this.#begin(cursor);
      this.#latest = cursor;
    }
    if (this.#kept.length > KEPT_EVENTS) {
      const dropped = this.#kept.splice(0, this.#kept.length - KEPT_EVENTS);
      this.#knownFrom = dropped.at(-1)?.cursor;
      this.#keptFrom += dropped.length;
    }
    if (changes.length > 0) for (const listener of this.#listeners) listener(changes);
  }

  /** Knows all changes from here on, and none before. */
  #begin(cursor: string): void {
    this.#knownFrom = cursor;
    this.#latest = cursor;
    // Behind all places that were given out.
    this.#keptFrom = this.received + 1;
    this.#kept = [];
    for (const listener of this.#resetListeners) listener();
  }
}
