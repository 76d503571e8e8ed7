/**
 * Delivers the ends of tasks to those who are told of them by webhooks. The deliveries are in the store; while there are none,
 * nothing runs.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import type { ValidationError } from '../core/errors.js';
import type { WebhookMetrics } from '../core/ports/metrics.js';
import type {
  ClaimedDelivery,
  Delivery,
  DeliveryOutcome,
  EndSubscription,
  WaitingReceiver,
  WebhookDeliveries,
} from '../core/ports/webhook-deliveries.js';
import type { SendOutcome, WebhookSender } from '../core/ports/webhook-sender.js';
import type { NotifyAddress, Task } from '../core/task.js';
import { ADDRESS_ALLOWED, isWithin, webhookAddress } from '../core/webhook-addresses.js';
import { retryDelayMs } from '../core/webhook-schedule.js';
import { WebhookReceivers } from './webhook-receivers.js';

/** A webhook of the configuration. */
export interface ConfiguredWebhook extends EndSubscription {
  readonly url: string;
}

export interface WebhookSettings {
  /** Told of the ends of all tasks. */
  readonly webhooks: readonly ConfiguredWebhook[];
  /** Addresses that tasks may name, with all below them. */
  readonly notify: readonly URL[];
  /** Deliveries that may wait for one receiver. */
  readonly maxWaiting: number;
  /** Time after which a delivery without an outcome is sent again. */
  readonly leaseMs: number;
  /** Time from the end of the task for which a delivery is tried. */
  readonly retryForMs: number;
  /** Time for which ended deliveries are kept. */
  readonly keepForMs: number;
}

/** The parts of webhooks that are outside the engine. */
export interface WebhookPorts {
  readonly deliveries: WebhookDeliveries;
  readonly sender: WebhookSender;
  /** Body of the message about the end of a task. */
  readonly present: (task: Task) => string;
  readonly settings: WebhookSettings;
  readonly metrics: WebhookMetrics;
}

export interface WebhooksOptions extends WebhookPorts {
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Whether the clock can be trusted, so that old deliveries may be given up. */
  readonly mayExpire: () => boolean;
}

/** Delay of the next look into the store after a failure of it. */
const STORE_RETRY_MS = 5000;

/** Delay after something that was due could not be claimed: another hub has claimed it. */
const TAKEN_RETRY_MS = 1000;

/** Longest sleep, since other hubs make deliveries, too, and clocks are corrected. */
const MAX_SLEEP_MS = 60_000;

export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #receivers: WebhookReceivers;
  readonly #stopping = new AbortController();
  readonly #tries = new Set<Promise<void>>();
  #unwatch: (() => void) | undefined;
  #timer: Timer | undefined;
  #passing: Promise<void> | undefined;
  #isWanted = false;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    const { deliveries, settings, runtime, log } = options;
    this.#receivers = new WebhookReceivers(runtime.clock, log);
    deliveries.subscribe(settings.webhooks, settings.maxWaiting);
  }

  /** Validation errors of the address that a request names; none without one. */
  notifyErrors(text: string | null | undefined): ValidationError[] {
    const fault = text === null || text === undefined ? undefined : this.#notifyFault(text);
    return fault === undefined ? [] : [{ where: 'notify', what: fault }];
  }

  /** Address that a task names, and its deliveries. */
  async ofTask(
    taskId: string,
  ): Promise<{ readonly notify: NotifyAddress | null; readonly deliveries: readonly Delivery[] }> {
    const { deliveries } = this.#options;
    return { notify: await deliveries.notifyOf(taskId), deliveries: await deliveries.ofTask(taskId) };
  }

  waiting(): Promise<WaitingReceiver[]> {
    return this.#options.deliveries.waiting();
  }

  /** Delivers what waits and what comes, until the stop. */
  start(): void {
    if (this.#stopping.signal.aborted) return;
    this.#unwatch = this.#options.deliveries.watch(() => this.#wake());
    this.#wake();
  }

  /** Breaks off what is being sent: it is sent again after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unwatch?.();
    this.#timer?.cancel();
    await this.#passing;
    await Promise.all(this.#tries);
    this.#options.sender.close();
  }

  /** Forgets deliveries that ended long ago; resolves with their number. */
  async forgetOld(): Promise<number> {
    const { deliveries, runtime, settings } = this.#options;
    return deliveries.forget(runtime.clock.nowMs() - settings.keepForMs);
  }

  #notifyFault(text: string): string | undefined {
    const { notify } = this.#options.settings;
    if (notify.length === 0) {
      return 'this hub sends no webhooks for single tasks; an administrator can allow addresses by webhooks.notify';
    }
    const url = webhookAddress(text);
    if (url === undefined) return `must be ${ADDRESS_ALLOWED}`;
    if (notify.some((allowed) => isWithin(url, allowed))) return undefined;
    return `must be an address that this hub allows: at or below ${notify.map(({ href }) => href).join(', ')}`;
  }

  #wake(): void {
    this.#isWanted = true;
    if (!this.#passing) this.#passAfter(0);
  }

  #passAfter(delayMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer?.cancel();
    this.#timer = this.#options.runtime.timers.after(delayMs, () => {
      this.#timer = undefined;
      this.#passing = this.#pass().then((nextInMs) => {
        this.#passing = undefined;
        if (this.#isWanted) this.#passAfter(0);
        else if (nextInMs !== undefined) this.#passAfter(Math.min(nextInMs, MAX_SLEEP_MS));
      });
    });
  }

  /** Begins all tries that can begin now; resolves with the time after which more can, unless the end of a try or a new delivery
   *  wakes it. */
  async #pass(): Promise<number | undefined> {
    this.#isWanted = false;
    const { deliveries, log } = this.#options;
    try {
      const waiting = await deliveries.waiting();
      // A few slow receivers must not take all tries.
      waiting.sort((a, b) => this.#receivers.triesAt(a.receiver) - this.#receivers.triesAt(b.receiver));
      let nextInMs: number | undefined;
      for (const receiver of waiting) {
        const inMs = await this.#serve(receiver);
        if (inMs !== undefined) nextInMs = Math.min(nextInMs ?? inMs, inMs);
      }
      return nextInMs;
    } catch (error) {
      log.error({ err: error }, 'the deliveries of webhooks could not be claimed');
      return STORE_RETRY_MS;
    }
  }

  /** Begins tries at one receiver; resolves as {@link #pass} does. */
  async #serve({ receiver, nextAtMs }: WaitingReceiver): Promise<number | undefined> {
    const { deliveries, runtime, settings } = this.#options;
    const limit = this.#receivers.capacityOf(receiver);
    if (limit === 0 || this.#stopping.signal.aborted) return undefined;
    const nowMs = runtime.clock.nowMs();
    const inMs = Math.max(nextAtMs - nowMs, this.#receivers.pauseMs(receiver));
    if (inMs > 0) return inMs;
    const leaseUntilMs = nowMs + settings.leaseMs;
    const claimed = await deliveries.claim({ receiver, nowMs, leaseUntilMs, limit });
    for (const delivery of claimed) this.#begin(delivery);
    if (claimed.length === 0) return TAKEN_RETRY_MS;
    // Unless all tries are used, another pass finds out when the next delivery is due.
    return claimed.length < limit ? 0 : undefined;
  }

  #begin(delivery: ClaimedDelivery): void {
    this.#receivers.began(delivery.receiver);
    const running = this.#try(delivery).finally(() => {
      this.#tries.delete(running);
      this.#wake();
    });
    this.#tries.add(running);
  }

  async #try(delivery: ClaimedDelivery): Promise<void> {
    const { deliveries, log } = this.#options;
    const outcome = await this.#send(delivery);
    this.#receivers.ended(delivery.receiver, outcome);
    try {
      const settled = this.#settled(delivery, outcome);
      const [counts] = await deliveries.settle([settled]);
      if (counts) this.#tell(delivery, settled);
      if (outcome?.kind === 'FAILED' && outcome.isReceiverDown)
        await this.#giveUpOld(delivery, outcome.fault);
    } catch (error) {
      log.error(
        { err: error, taskId: delivery.task.id },
        'the outcome of a webhook could not be stored: it will be sent again',
      );
    }
  }

  /** Null when it was broken off by the stop. */
  async #send(delivery: ClaimedDelivery): Promise<SendOutcome | null> {
    const { sender, present, runtime } = this.#options;
    const { signal } = this.#stopping;
    if (signal.aborted) return null;
    const address = this.#addressOf(delivery);
    if (typeof address !== 'string') return address;
    const { task, hook } = delivery;
    const timestampS = Math.floor(runtime.clock.nowMs() / 1000);
    const id = `${task.id}.${hook ?? 'notify'}`;
    const outcome = await sender.send({ url: address, id, timestampS, body: present(task) }, signal);
    return signal.aborted && outcome.kind === 'FAILED' ? null : outcome;
  }

  /** The configuration may have changed since the delivery was made. */
  #addressOf({ hook, url }: ClaimedDelivery): string | SendOutcome {
    const { webhooks, notify } = this.#options.settings;
    const refused = { kind: 'FAILED', isReceiverDown: false, retryAfterMs: 0 } as const;
    if (url !== null) {
      if (notify.some((allowed) => isWithin(new URL(url), allowed))) return url;
      return { ...refused, fault: 'webhooks.notify does not allow this address any more', isFinal: false };
    }
    const found = webhooks.find(({ name }) => name === hook);
    if (found) return found.url;
    return { ...refused, fault: 'the configuration has no such webhook any more', isFinal: true };
  }

  #settled({ ref, task }: ClaimedDelivery, outcome: SendOutcome | null): DeliveryOutcome {
    const { runtime, settings, mayExpire } = this.#options;
    const atMs = runtime.clock.nowMs();
    if (outcome === null) return { ref, state: 'WAITING', nextAtMs: atMs, fault: null };
    if (outcome.kind === 'DELIVERED') return { ref, state: 'DELIVERED', atMs };
    const { fault, isFinal, retryAfterMs } = outcome;
    const leftMs = (task.endedAtMs ?? atMs) + settings.retryForMs - atMs;
    if (isFinal || (leftMs <= 0 && mayExpire())) return { ref, state: 'FAILED', atMs, fault };
    const delayMs = Math.max(retryDelayMs(ref.tries, runtime.random()), retryAfterMs);
    // The last try is at the end of that time.
    return {
      ref,
      state: 'WAITING',
      nextAtMs: atMs + (leftMs > 0 ? Math.min(delayMs, leftMs) : delayMs),
      fault,
    };
  }

  #tell({ task, hook, receiver, ref: { tries } }: ClaimedDelivery, settled: DeliveryOutcome): void {
    const { log, metrics } = this.#options;
    const of = { taskId: task.id, requestId: task.requestId, hook: hook ?? 'notify', receiver, tries };
    if (settled.state === 'DELIVERED') {
      metrics.tried('DELIVERED');
      log.debug(of, 'a webhook was delivered');
      return;
    }
    const { fault } = settled;
    if (fault === null) return;
    metrics.tried('FAILED');
    if (settled.state === 'WAITING') {
      const { nextAtMs } = settled;
      log.info({ ...of, fault, nextAtMs }, 'a webhook could not be delivered and will be sent again');
      return;
    }
    metrics.gaveUp(1);
    log.warn({ ...of, fault }, 'a webhook was given up');
  }

  /** Gives up what is older than it may become, since the receiver is still down. */
  async #giveUpOld({ receiver }: ClaimedDelivery, fault: string): Promise<void> {
    const { deliveries, runtime, settings, mayExpire, log, metrics } = this.#options;
    if (!mayExpire()) return;
    const nowMs = runtime.clock.nowMs();
    const deliveriesGivenUp = await deliveries.giveUp(receiver, nowMs - settings.retryForMs, nowMs, fault);
    if (deliveriesGivenUp === 0) return;
    metrics.gaveUp(deliveriesGivenUp);
    log.warn({ receiver, deliveries: deliveriesGivenUp, fault }, 'webhooks were given up');
  }
}
