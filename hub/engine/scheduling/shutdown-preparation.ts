/**
 * Shutdown preparation (contract 9.6): while it is initiated, no task is accepted or dispatched; running tasks end as usual and
 * waiting ones stay in the queue. A restart ends it. One of several hubs that is prepared alone accepts no task, while the cluster
 * dispatches as before; when no other is left, it dispatches none either.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { Hubs } from '../../core/ports/hubs.js';
import type {
  PreparationScope,
  Preparations,
  ShutdownPreparations,
} from '../../core/ports/shutdown-preparations.js';
import type { SignalListener, Signals } from '../../core/ports/signals.js';

export interface ShutdownPreparationOptions {
  readonly preparations: ShutdownPreparations;
  readonly hubs: Pick<Hubs, 'others'>;
  readonly signals: Pick<Signals, 'tell' | 'caughtUp'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ShutdownStatus {
  readonly initiated: boolean;
  /** Milliseconds since 1970; null while it is not initiated. */
  readonly initiatedAtMs: number | null;
}

export class ShutdownPreparation {
  readonly #options: ShutdownPreparationOptions;
  readonly #subscribers: ((isPaused: boolean) => void)[] = [];
  /** Reads and changes run one after the other, so that no older one replaces a newer one. */
  #latest: Promise<unknown> = Promise.resolve();
  #preparations: Preparations = { HUB: null, CLUSTER: null };
  #isPaused = false;

  constructor(options: ShutdownPreparationOptions) {
    this.#options = options;
  }

  /** Adds a subscriber, which is called when dispatching has to stop (true) or may continue (false). */
  subscribe(subscriber: (isPaused: boolean) => void): void {
    this.#subscribers.push(subscriber);
  }

  /** Whether dispatching is stopped. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  get status(): ShutdownStatus {
    return this.#statusOf('HUB');
  }

  /** Whether there is a cluster to be prepared beside this hub: other hubs, or its preparation, which outlasts them. */
  get isOfCluster(): boolean {
    return this.#options.hubs.others() > 0 || this.#preparations.CLUSTER !== null;
  }

  /** The status of this hub, or that of the cluster alone, also of changes that other hubs have answered before. */
  async current(scope: PreparationScope = 'HUB'): Promise<ShutdownStatus> {
    await this.#options.signals.caughtUp();
    await this.settled();
    return this.#statusOf(scope);
  }

  /** Resolves when reads and changes so far have been applied. Never rejects. */
  async settled(): Promise<void> {
    await this.#latest;
  }

  readonly onSignal: SignalListener = {
    PREPARATION: () => this.#refreshLater(),
    RESYNC: () => this.#refreshLater(),
    HUBS: () => this.#follow(),
  };

  /** Applies what the store holds. Rejects as the store does. */
  refresh(): Promise<void> {
    return this.#inOrder(() => this.#options.preparations.read());
  }

  /** Prepares this hub or all of its cluster, or ends that. Initiating it again keeps the first timestamp. Rejects as the store
   *  does. */
  async change(initiated: boolean, scope: PreparationScope = 'HUB'): Promise<ShutdownStatus> {
    const { preparations, signals, clock } = this.#options;
    await this.#inOrder(() => preparations.change(scope, initiated ? clock.nowMs() : null));
    signals.tell({ kind: 'PREPARATION' });
    await signals.caughtUp();
    return this.#statusOf(scope);
  }

  /** Throws SHUTDOWN_PREPARED while a shutdown is being prepared. */
  refuseNewTasks(): void {
    if (!this.status.initiated) return;
    throw new HubError(
      'SHUTDOWN_PREPARED',
      'the hub is being prepared for a shutdown and accepts no tasks; submit the task again after the restart',
    );
  }

  /** A hub accepts no tasks while its cluster is prepared. */
  #statusOf(scope: PreparationScope): ShutdownStatus {
    const { HUB, CLUSTER } = this.#preparations;
    const initiatedAtMs = scope === 'CLUSTER' ? CLUSTER : (HUB ?? CLUSTER);
    return { initiated: initiatedAtMs !== null, initiatedAtMs };
  }

  #refreshLater(): void {
    this.refresh().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the preparation of a shutdown could not be read');
    });
  }

  #inOrder(read: () => Promise<Preparations>): Promise<void> {
    const done = this.#latest.then(async () => {
      this.#preparations = await read();
      this.#follow();
    });
    this.#latest = done.catch(() => undefined);
    return done;
  }

  /** Stops dispatching or lets it continue, by what is prepared and which hubs are there. */
  #follow(): void {
    const { HUB, CLUSTER } = this.#preparations;
    const isPaused = CLUSTER !== null || (HUB !== null && this.#options.hubs.others() === 0);
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    for (const subscriber of this.#subscribers) subscriber(isPaused);
  }
}
