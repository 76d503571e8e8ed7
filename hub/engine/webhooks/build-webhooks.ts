/** Messages about the ends of tasks and the changes of studies to other programs. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { WebhookPorts } from './webhook-tries.js';
import { Webhooks } from './webhooks.js';

export interface WebhooksPorts {
  /** None are sent when left out. */
  readonly webhooks?: WebhookPorts;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** `mayExpire`: whether the clock can be trusted, so that old deliveries may be given up. Null for a hub that sends none. */
export function buildWebhooks(
  { webhooks, runtime, log }: WebhooksPorts,
  mayExpire: () => boolean,
): Webhooks | null {
  return webhooks ? new Webhooks({ ...webhooks, runtime, log, mayExpire }) : null;
}
