import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { ClaimedDelivery, DeliveryOutcome } from '../../core/ports/webhook-deliveries.js';
import type { SendOutcome } from '../../core/ports/webhook-sender.js';
import { WebhookTries, type WebhookTriesOptions } from './webhook-tries.js';

const BROKEN_OFF: SendOutcome = {
  ...{ kind: 'FAILED', fault: 'closed the connection', receiver: 'DOWN', isFinal: false, retryAfterMs: 0 },
};
const RECEIVER = 'https://ci.example.org';
const REF = { tries: 1 };

it('a stop breaks off what is being sent, which waits for the next start as if it had not been tried', async () => {
  const runtime = manualRuntime();
  const settled: DeliveryOutcome[] = [];
  let breakOff: (outcome: SendOutcome) => void = () => undefined;
  const tries = new WebhookTries({
    runtime,
    sender: {
      send: () =>
        new Promise<SendOutcome>((resolve) => {
          breakOff = resolve;
        }),
      close: () => breakOff(BROKEN_OFF),
    },
    deliveries: {
      settle: async (outcomes: readonly DeliveryOutcome[]) => {
        settled.push(...outcomes);
        return outcomes.map(() => false);
      },
    },
    receivers: { began: () => undefined, ended: () => undefined },
    settings: { webhooks: [], notify: [new URL(RECEIVER)] },
    present: () => '{}',
    onEnd: () => undefined,
  } as unknown as WebhookTriesOptions);
  tries.begin({
    ...{ ref: REF, hook: null, receiver: RECEIVER, url: `${RECEIVER}/hook`, toldOfMs: 0 },
    news: { kind: 'TASK', task: { id: 'task' } },
  } as unknown as ClaimedDelivery);
  const stopped = tries.stop();
  await runtime.advance(0);
  const nextAtMs = runtime.clock.nowMs();
  expect(settled).toEqual([{ ref: REF, state: 'WAITING', nextAtMs, fault: null }]);
  await stopped;
});
