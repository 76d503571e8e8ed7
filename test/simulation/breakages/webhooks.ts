/** Defects of webhooks. */
import type { WebhookPorts } from '@workbench-hub/hub/engine/webhooks/webhook-tries';
import type { Breakage } from './breakage.js';

const NEVER_MS = Number.MAX_SAFE_INTEGER;

export const WEBHOOK_BREAKAGES: readonly Breakage[] = [
  {
    name: 'a webhook that a killed hub was sending is not sent again',
    seed: 113,
    hub: ({ webhooks }) =>
      withDeliveries(webhooks, ({ claim, waiting }) => ({
        claim: (query) => claim({ ...query, leaseUntilMs: NEVER_MS }),
        // Else it would look like one of before the clock was set back.
        waiting: async () => (await waiting()).filter(({ nextAtMs }) => nextAtMs < NEVER_MS),
      })),
  },
  {
    name: 'a webhook is taken for delivered when it was sent',
    seed: 14,
    hub: ({ webhooks }) =>
      withDeliveries(webhooks, ({ settle }) => ({
        settle: (outcomes) => settle(outcomes.map(({ ref }) => ({ ref, state: 'DELIVERED', atMs: 0 }))),
      })),
  },
  {
    name: 'webhooks are lost with the removal of their task',
    seed: 14,
    hub: ({ archive }, store) => ({
      archive: {
        ...archive,
        remove: (taskIds) => {
          store.tamper(
            'DELETE FROM webhook_delivery WHERE task_id IN (SELECT value FROM json_each(?))',
            JSON.stringify(taskIds),
          );
          return archive.remove(taskIds);
        },
      },
    }),
  },
];

function withDeliveries(
  webhooks: WebhookPorts | undefined,
  replace: (deliveries: WebhookPorts['deliveries']) => Partial<WebhookPorts['deliveries']>,
): { webhooks?: WebhookPorts } {
  if (!webhooks) return {};
  const { deliveries } = webhooks;
  return { webhooks: { ...webhooks, deliveries: { ...deliveries, ...replace(deliveries) } } };
}
