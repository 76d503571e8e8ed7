import { describe, expect, it } from 'vitest';
import { verifyWebhook, WebhookRefusedError, type WebhookVerification } from './webhook.js';

/** Example of the libraries of Standard Webhooks. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const OTHER = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const SIGNATURE = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const HEADERS = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': SIGNATURE,
};
const WEBHOOK: WebhookVerification = {
  body: '{"test": 2432232314}',
  headers: HEADERS,
  secret: SECRET,
  nowMs: 1_614_265_330_000,
};

const verified = (change: Partial<WebhookVerification>) => verifyWebhook({ ...WEBHOOK, ...change });
const signed = (signature: string) => ({ headers: { ...HEADERS, 'webhook-signature': signature } });

describe('a webhook', () => {
  it.each<[string, Partial<WebhookVerification>]>([
    ['as text', {}],
    ['as bytes', { body: new TextEncoder().encode('{"test": 2432232314}') }],
    ['with headers of another kind', { headers: new Headers(HEADERS) }],
    ['with headers of other case', { headers: { ...HEADERS, 'Webhook-Id': HEADERS['webhook-id'] } }],
    ['for one of several secrets', { secret: [OTHER, SECRET] }],
    ['with several signatures', signed(`v1,AAAA v2,x ${SIGNATURE}`)],
    ['that is a little old', { nowMs: 1_614_265_630_000 }],
  ])('is verified %s', async (_, change) => {
    expect(await verified(change)).toEqual({ test: 2_432_232_314 });
  });

  it.each<[string, Partial<WebhookVerification>, RegExp]>([
    ['with another body', { body: '{"test": 2432232315}' }, /no signature/],
    ['with another id', { headers: { ...HEADERS, 'webhook-id': 'x' } }, /no signature/],
    ['with another time', { headers: { ...HEADERS, 'webhook-timestamp': '1614265331' } }, /no signature/],
    ['for another secret', { secret: OTHER }, /no signature/],
    ['without secrets', { secret: [] }, /no signature/],
    ['of another version', signed(SIGNATURE.replace('v1', 'v2')), /no signature/],
    ['without signature', signed(''), /no signature/],
    ['with a signature that is no Base64', signed('v1,*'), /no signature/],
    ['without headers', { headers: {} }, /missing or malformed/],
    [
      'with a time that is none',
      { headers: { ...HEADERS, 'webhook-timestamp': '1e9' } },
      /missing or malformed/,
    ],
    ['that is old', { nowMs: 1_614_265_631_000 }, /too old/],
    ['from the future', { nowMs: 1_614_265_029_000 }, /too old/],
    ['by a secret that is none', { secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }, /the secret must be/],
  ])('is refused %s', async (_, change, reason) => {
    await expect(verified(change)).rejects.toThrow(WebhookRefusedError);
    await expect(verified(change)).rejects.toThrow(reason);
  });
});
