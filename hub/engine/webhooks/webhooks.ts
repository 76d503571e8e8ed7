/**
 * Delivers the ends of tasks and the changes of studies to those who are told of them by webhooks. The deliveries are in the store; while there are none,
 * nothing runs.
 */
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { ValidationError } from '../../core/errors.js';
import type { Delivery, WaitingReceiver } from '../../core/ports/webhook-deliveries.js';
import type { NotifyAddress } from '../../core/task.js';
import { MAX_DELAY_MS } from '../../core/webhook-schedule.js';
import { WebhookReceivers } from './webhook-receivers.js';
import { notifyFault } from './webhook-settings.js';
import { WebhookTries, type WebhookTriesOptions } from './webhook-tries.js';

export type WebhooksOptions = Omit<WebhookTriesOptions, 'receivers' | 'onEnd'>;

/** Delay of the next look into the store after a failure of it. */
const STORE_RETRY_MS = 5000;

/** Delay after something that was due could not be claimed: another hub has claimed it. */
const TAKEN_RETRY_MS = 1000;

/** Shortest time between two log lines about deliveries that failed at once. */
const REFUSAL_LOG_MS = 60_000;

/** Longest sleep, since clocks are corrected. */
const MAX_SLEEP_MS = 60_000;

/** Address that a task or study names, and its deliveries. */
export interface Told {
  /** Address that it names; null for none. */
  readonly notify: NotifyAddress | null;
  readonly deliveries: readonly Delivery[];
}

export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #receivers: WebhookReceivers;
  readonly #tries: WebhookTries;
  readonly #loop: Loop;
  /** Deliveries that failed at once and are not logged yet, by receiver. */
  readonly #refused = new Map<string, number>();
  #nextRefusalMs = 0;
  #unwatch: (() => void) | undefined;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    const { deliveries, settings, runtime, log } = options;
    const receivers = new WebhookReceivers(runtime.clock, log);
    this.#receivers = receivers;
    this.#tries = new WebhookTries({ ...options, receivers, onEnd: () => this.#loop.wake(0) });
    this.#loop = new Loop({ timers: runtime.timers, pass: () => this.#pass() });
    deliveries.subscribe(settings.webhooks, settings.maxWaiting);
  }

  /** Validation errors of the address that a request names; none without one. */
  notifyErrors(text: string | null | undefined): ValidationError[] {
    const fault = text === null || text === undefined ? undefined : notifyFault(this.#options.settings, text);
    return fault === undefined ? [] : [{ where: 'notify', what: fault }];
  }

  /** Address that a task names, and its deliveries. */
  async ofTask(taskId: string): Promise<Told> {
    const { deliveries } = this.#options;
    return { notify: await deliveries.notifyOf(taskId), deliveries: await deliveries.ofTask(taskId) };
  }

  /** Address that a study names, and the deliveries of its latest change that was told. */
  async ofStudy(studyId: string): Promise<Told> {
    const { deliveries } = this.#options;
    return {
      notify: await deliveries.notifyOfStudy(studyId),
      deliveries: await deliveries.ofStudy(studyId),
    };
  }

  waiting(): Promise<WaitingReceiver[]> {
    return this.#options.deliveries.waiting();
  }

  /** Learns of deliveries that other hubs have made, also for a hub that has ended since. Rejects as the store does. */
  refresh(): Promise<void> {
    return this.#options.deliveries.refresh();
  }

  /** Delivers what waits and what comes, until the stop. */
  start(): void {
    if (this.#loop.isStopped) return;
    this.#unwatch = this.#options.deliveries.watch(() => this.#loop.wake(0));
    this.#loop.start(0);
  }

  /** Breaks off what is being sent: it is sent again after the next start. */
  async stop(): Promise<void> {
    this.#unwatch?.();
    await this.#loop.stop();
    await this.#tries.stop();
  }

  /** Forgets deliveries that ended long ago; resolves with their number. */
  async forgetOld(): Promise<number> {
    const { deliveries, runtime, settings } = this.#options;
    return deliveries.forget(runtime.clock.nowMs() - settings.keepForMs);
  }

  /** Begins all tries that can begin now; resolves with the time after which more can, unless the end of a try or a new delivery
   *  wakes it. */
  async #pass(): Promise<number | undefined> {
    const { deliveries, log } = this.#options;
    try {
      await this.#tellRefused();
      const waiting = await deliveries.waiting();
      // A few slow receivers must not take all tries.
      waiting.sort((a, b) => this.#receivers.triesAt(a.receiver) - this.#receivers.triesAt(b.receiver));
      let nextInMs: number | undefined;
      for (const receiver of waiting) {
        const inMs = await this.#serve(receiver);
        if (inMs !== undefined) nextInMs = Math.min(nextInMs ?? MAX_SLEEP_MS, inMs);
      }
      return nextInMs;
    } catch (error) {
      log.error({ err: error }, 'the deliveries of webhooks could not be claimed');
      return STORE_RETRY_MS;
    }
  }

  /** Counts what failed because too many wait, and logs it from time to time. */
  async #tellRefused(): Promise<void> {
    const { deliveries, runtime, settings, log, metrics } = this.#options;
    for (const { receiver, deliveries: count } of await deliveries.takeRefused()) {
      metrics.gaveUp(count);
      this.#refused.set(receiver, (this.#refused.get(receiver) ?? 0) + count);
    }
    const nowMs = runtime.clock.monotonicMs();
    if (this.#refused.size === 0 || nowMs < this.#nextRefusalMs) return;
    this.#nextRefusalMs = nowMs + REFUSAL_LOG_MS;
    for (const [receiver, count] of this.#refused) {
      log.warn(
        { receiver, deliveries: count, maxWaiting: settings.maxWaiting },
        'webhooks were given up at once: as many as webhooks.maxWaiting wait for this receiver',
      );
    }
    this.#refused.clear();
  }

  /** Begins tries at one receiver; resolves as {@link #pass} does. */
  async #serve({ receiver, nextAtMs }: WaitingReceiver): Promise<number | undefined> {
    const { deliveries, runtime, settings } = this.#options;
    const limit = this.#receivers.capacityOf(receiver);
    if (limit === 0 || this.#loop.isStopped) return undefined;
    const nowMs = runtime.clock.nowMs();
    const longestMs = Math.max(MAX_DELAY_MS, settings.leaseMs);
    const dueInMs = nextAtMs - nowMs > longestMs ? 0 : nextAtMs - nowMs;
    const inMs = Math.max(dueInMs, this.#receivers.pauseMs(receiver));
    if (inMs > 0) return inMs;
    const dueUntilMs = Math.max(nowMs, nextAtMs);
    const leaseUntilMs = nowMs + settings.leaseMs;
    const claimed = await deliveries.claim({ receiver, dueUntilMs, leaseUntilMs, limit });
    for (const delivery of claimed) this.#tries.begin(delivery);
    if (claimed.length === 0) return TAKEN_RETRY_MS;
    // Unless all tries are used, another pass finds out when the next delivery is due.
    return claimed.length < limit ? 0 : undefined;
  }
}
