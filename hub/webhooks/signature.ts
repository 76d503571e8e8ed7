/** Signatures of webhooks by the scheme of Standard Webhooks, https://www.standardwebhooks.com. */
import { createHmac } from 'node:crypto';

/** Secret of a receiver, known by its origin: each has its own, so that none can sign for another. Written as receivers take it:
 *  `whsec_` and Base64. */
export function receiverSecret(key: Buffer, origin: string): string {
  const secret = createHmac('sha256', key).update(`webhooks to ${origin}`).digest('base64');
  return `whsec_${secret}`;
}

/** Value of the header `webhook-signature`: a signature by each of these secrets. */
export function signatures(
  secrets: readonly string[],
  { id, timestampS, body }: { readonly id: string; readonly timestampS: number; readonly body: string },
): string {
  return secrets
    .map((secret) => {
      const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
      return `v1,${createHmac('sha256', bytes).update(`${id}.${timestampS}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
