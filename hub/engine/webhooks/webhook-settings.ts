/** Where webhooks may go, and how long they are tried. */
import type { EndSubscription } from '../../core/ports/webhook-deliveries.js';
import { ADDRESS_ALLOWED, isWithin, webhookAddress } from '../../core/webhook-addresses.js';

/** A webhook of the configuration. */
export interface ConfiguredWebhook extends EndSubscription {
  readonly url: string;
}

export interface WebhookSettings {
  /** Receivers of the ends of all tasks, and, if they want, of the changes of all studies. */
  readonly webhooks: readonly ConfiguredWebhook[];
  /** Addresses that tasks and studies may name, with all below them. */
  readonly notify: readonly URL[];
  /** Deliveries that may wait for one receiver. */
  readonly maxWaiting: number;
  /** Time after which a delivery without an outcome is sent again. */
  readonly leaseMs: number;
  /** Time from the end or the change for which a delivery is tried. */
  readonly retryForMs: number;
  /** Time for which ended deliveries are kept. */
  readonly keepForMs: number;
}

/** Why a task or study may not name this address; undefined when it may. */
export function notifyFault({ notify }: Pick<WebhookSettings, 'notify'>, text: string): string | undefined {
  if (notify.length === 0) {
    return 'this hub sends no webhooks for single tasks and studies; an administrator can allow addresses by webhooks.notify';
  }
  const url = webhookAddress(text);
  if (url === undefined) return `must be ${ADDRESS_ALLOWED}`;
  if (notify.some((allowed) => isWithin(url, allowed))) return undefined;
  return `must be an address that this hub allows: at or below ${notify.map(({ href }) => href).join(', ')}`;
}

/** Address of a delivery, or why there is none at present: the configuration may have changed since the delivery was made, or a hub
 *  that was started with a newer one has made it. */
export function addressOf(
  { webhooks, notify }: WebhookSettings,
  { hook, url }: { readonly hook: string | null; readonly url: string | null },
): { readonly url: string } | { readonly fault: string } {
  if (url !== null) {
    if (notify.some((allowed) => isWithin(new URL(url), allowed))) return { url };
    return { fault: 'webhooks.notify does not allow this address any more' };
  }
  const found = webhooks.find(({ name }) => name === hook);
  return found ?? { fault: 'the configuration has no such webhook' };
}
