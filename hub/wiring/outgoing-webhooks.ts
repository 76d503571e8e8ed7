/** The part of the composition root that is about webhooks. */

import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../config.js';
import type { WebhookMetrics } from '../core/ports/metrics.js';
import type { WebhookDeliveries } from '../core/ports/webhook-deliveries.js';
import type { Task } from '../core/task.js';
import { configuredReceiver } from '../core/webhook-addresses.js';
import type { WebhookSettings } from '../engine/webhooks/webhook-settings.js';
import type { WebhookPorts } from '../engine/webhooks/webhook-tries.js';
import { presentTaskItem } from '../http/endpoints/x/present-task.js';
import { presentStudyItem } from '../http/endpoints/x/studies/present-study.js';
import { trustedCertificates } from '../security/trusted-certificates.js';
import { webhookKeys } from '../security/webhook-keys.js';
import { messageBody } from '../webhooks/message-bodies.js';
import { type Resolver, webhookSender } from '../webhooks/webhook-sender.js';

export interface WebhookParts {
  readonly deliveries: WebhookDeliveries;
  readonly timers: Timers;
  readonly metrics: WebhookMetrics;
  /** By default, the system's. */
  readonly resolve?: Resolver | undefined;
}

/** Rejects with `StartRefused` when the keys or the certificates are unusable. */
export async function openWebhooks(
  { dataDir, webhooks: config }: Pick<HubConfig, 'dataDir' | 'webhooks'>,
  { deliveries, timers, metrics, resolve }: WebhookParts,
): Promise<WebhookPorts> {
  const isUsed = config.receivers.length + config.notify.length > 0;
  const { ca, timeout: timeoutMs, allowHttp, privateNetworks } = config;
  const sender = webhookSender({
    timers,
    // Without any address that may be called there is nothing to sign.
    keys: isUsed ? await webhookKeys(dataDir) : [],
    version: buildInfo.version,
    timeoutMs,
    allowHttp,
    privateNetworks,
    ca: ca === null ? null : await trustedCertificates(ca, 'webhooks.ca'),
    ...(resolve ? { resolve } : {}),
  });
  const presenters = {
    task: (task: Task) => presentTaskItem(task, null),
    study: presentStudyItem,
  };
  const present: WebhookPorts['present'] = (delivery) => messageBody(delivery, presenters);
  return { deliveries, sender, present, settings: settingsOf(config), metrics };
}

function settingsOf(config: HubConfig['webhooks']): WebhookSettings {
  const { receivers, notify, maxWaiting, timeout, retryFor, keepFor } = config;
  return {
    webhooks: receivers.map(({ name, url, statuses, studies }) => ({
      ...{ name, url, statuses, receiver: configuredReceiver(name, url) },
      studies,
    })),
    notify: notify.map((url) => new URL(url)),
    maxWaiting,
    // Twice the time that a try takes at most: a late outcome does no harm.
    leaseMs: 2 * timeout + 5000,
    retryForMs: retryFor,
    keepForMs: keepFor,
  };
}
