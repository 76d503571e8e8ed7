/** The tries of deliveries: sends each once, stores the outcome, and gives up what nobody takes. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { WebhookMetrics } from '../../core/ports/metrics.js';
import type {
  ClaimedDelivery,
  DeliveryOutcome,
  News,
  WebhookDeliveries,
} from '../../core/ports/webhook-deliveries.js';
import type { SendOutcome, WebhookSender } from '../../core/ports/webhook-sender.js';
import { retryDelayMs } from '../../core/webhook-schedule.js';
import type { WebhookReceivers } from './webhook-receivers.js';
import { addressOf, type WebhookSettings } from './webhook-settings.js';

/** The parts of webhooks that are outside the engine. */
export interface WebhookPorts {
  readonly deliveries: WebhookDeliveries;
  readonly sender: WebhookSender;
  /** Body of a message. */
  readonly present: (delivery: Pick<ClaimedDelivery, 'news' | 'toldOfMs'>) => string;
  readonly settings: WebhookSettings;
  readonly metrics: WebhookMetrics;
}

export interface WebhookTriesOptions extends WebhookPorts {
  readonly receivers: WebhookReceivers;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Whether the clock can be trusted, so that old deliveries may be given up. */
  readonly mayExpire: () => boolean;
  /** A try has ended, so another one can begin. */
  readonly onEnd: () => void;
}

export class WebhookTries {
  readonly #options: WebhookTriesOptions;
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: WebhookTriesOptions) {
    this.#options = options;
  }

  begin(delivery: ClaimedDelivery): void {
    const { receivers, onEnd } = this.#options;
    receivers.began(delivery.receiver);
    const running = this.#try(delivery).finally(() => {
      this.#running.delete(running);
      onEnd();
    });
    this.#running.add(running);
  }

  /** Breaks off what is being sent; it waits for the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#options.sender.close();
    await Promise.all(this.#running);
  }

  async #try(delivery: ClaimedDelivery): Promise<void> {
    const { deliveries, receivers, log } = this.#options;
    const outcome = await this.#send(delivery);
    receivers.ended(delivery.receiver, outcome);
    try {
      const settled = this.#settled(delivery, outcome);
      const [counts] = await deliveries.settle([settled]);
      if (counts) this.#tell(delivery, settled);
      if (outcome?.kind === 'FAILED' && outcome.receiver === 'DOWN')
        await this.#giveUpOld(delivery, outcome.fault);
    } catch (error) {
      log.error(
        { err: error, ...subjectOf(delivery.news) },
        'the outcome of a webhook could not be stored: it will be sent again',
      );
    }
  }

  /** Null when it was broken off by the stop. */
  async #send(delivery: ClaimedDelivery): Promise<SendOutcome | null> {
    const { sender, present, settings, runtime } = this.#options;
    if (this.#isStopped) return null;
    const address = addressOf(settings, delivery);
    if ('fault' in address)
      return { kind: 'FAILED', receiver: 'UNKNOWN', isFinal: false, retryAfterMs: 0, ...address };
    const timestampS = Math.floor(runtime.clock.nowMs() / 1000);
    const id = messageId(delivery);
    const outcome = await sender.send({ url: address.url, id, timestampS, body: present(delivery) });
    return this.#isStopped && outcome.kind === 'FAILED' ? null : outcome;
  }

  #settled({ ref, toldOfMs }: ClaimedDelivery, outcome: SendOutcome | null): DeliveryOutcome {
    const { runtime, settings, mayExpire } = this.#options;
    const atMs = runtime.clock.nowMs();
    if (outcome === null) return { ref, state: 'WAITING', nextAtMs: atMs, fault: null };
    if (outcome.kind === 'DELIVERED') return { ref, state: 'DELIVERED', atMs };
    const { fault, isFinal, retryAfterMs } = outcome;
    const leftMs = toldOfMs + settings.retryForMs - atMs;
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

  #tell({ news, hook, receiver, ref: { tries } }: ClaimedDelivery, settled: DeliveryOutcome): void {
    const { log, metrics } = this.#options;
    const of = { ...subjectOf(news), hook: hook ?? 'notify', receiver, tries };
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
      log.debug({ ...of, fault, nextAtMs }, 'a webhook could not be delivered and will be sent again');
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

/** Id of a message, the same at each try. */
function messageId({ news, hook }: ClaimedDelivery): string {
  const subject = news.kind === 'TASK' ? news.task.id : `${news.study.id}.${news.change}`;
  return `${subject}.${hook ?? 'notify'}`;
}

/** Fields of log lines that name the task or study. */
function subjectOf(news: News) {
  return news.kind === 'TASK'
    ? { taskId: news.task.id, requestId: news.task.requestId }
    : { studyId: news.study.id };
}
