/** Verification of webhooks, for those who receive them. */
import type { StudyItem, TaskItem } from './generated/types.gen.js';

/** Message about the end of a task. */
export interface TaskEnded {
  readonly type: 'task.ended';
  /** When the task ended, with an offset. */
  readonly timestamp: string;
  readonly data: TaskItem;
}

/** Message that a study has finished or was stopped, or has paused by itself. */
export interface StudyChanged {
  readonly type: 'study.ended' | 'study.paused';
  /** When it was, with an offset. */
  readonly timestamp: string;
  readonly data: StudyItem;
}

/** A message is not a webhook of the hub, or an old one that somebody sends again. */
export class WebhookRefusedError extends Error {
  override readonly name = 'WebhookRefusedError';
}

export interface WebhookVerification {
  /** The body as it was received. */
  readonly body: string | Uint8Array;
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Output of `workbench-hub webhook secret`; several while they are exchanged. */
  readonly secret: string | readonly string[];
  /** Largest age of a message; by default 5 minutes. */
  readonly toleranceS?: number;
  /** Present time in milliseconds since 1970; by default that of the clock. */
  readonly nowMs?: number;
}

/** The message of a webhook, if the hub has signed it. Rejects with {@link WebhookRefusedError} otherwise. */
export async function verifyWebhook({
  body,
  headers,
  secret,
  toleranceS = 300,
  nowMs = Date.now(),
}: WebhookVerification): Promise<TaskEnded | StudyChanged> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  if (id === '' || !/^\d{1,12}$/.test(timestamp))
    throw new WebhookRefusedError('the headers webhook-id and webhook-timestamp are missing or malformed');
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceS)
    throw new WebhookRefusedError('the message is too old, or the clock of this machine is wrong');
  const content = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = new Uint8Array(await new Blob([`${id}.${timestamp}.`, content as BlobPart]).arrayBuffer());
  const given = headerOf(headers, 'webhook-signature')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .flatMap((signature) => bytesOf(signature.slice('v1,'.length)) ?? []);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  for (const key of await Promise.all(secrets.map(keyOf))) {
    for (const signature of given) {
      if (await crypto.subtle.verify('HMAC', key, signature, signed))
        return JSON.parse(new TextDecoder().decode(content)) as TaskEnded | StudyChanged;
    }
  }
  throw new WebhookRefusedError('no signature of the message is right');
}

function keyOf(secret: string): Promise<CryptoKey> {
  const key = secret.startsWith('whsec_') ? bytesOf(secret.slice('whsec_'.length)) : undefined;
  if (key === undefined)
    throw new WebhookRefusedError('the secret must be the output of workbench-hub webhook secret');
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function headerOf(headers: WebhookVerification['headers'], name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? '';
  const found = Object.entries(headers).find(([other]) => other.toLowerCase() === name)?.[1] ?? '';
  return typeof found === 'string' ? found : found.join(' ');
}

/** Undefined for what is no Base64, and for an empty text. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    return bytes.length > 0 ? bytes : undefined;
  } catch {
    return undefined;
  }
}
