/**
 * Sends webhooks over HTTP. The address of a receiver is resolved and checked for each connection, which then goes to exactly the
 * checked address. Redirects are not followed, and nothing that a receiver writes is kept but its status.
 */
import { lookup as systemLookup } from 'node:dns';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { SendOutcome, WebhookMessage, WebhookSender } from '../core/ports/webhook-sender.js';
import { permittedAddresses } from './permitted-addresses.js';
import { receiverSecret, signatures } from './signature.js';

/** Finds the addresses of a host, as `lookup` of `node:dns` with `all`. */
export type Resolver = (
  hostname: string,
  found: (
    error: Error | null,
    addresses: readonly { readonly address: string; readonly family: number }[],
  ) => void,
) => void;

export interface WebhookSenderOptions {
  readonly timers: Timers;
  /** Each of them signs. */
  readonly keys: readonly Buffer[];
  readonly version: string;
  /** Longest time from the beginning of a try to the status of the response. */
  readonly timeoutMs: number;
  readonly allowHttp: boolean;
  /** Networks that may be reached although they are not public. */
  readonly privateNetworks: readonly string[];
  /** Trusted certificates in PEM instead of Node's; null for Node's. */
  readonly ca: string | null;
  readonly resolve?: Resolver;
}

/** Bytes and time that are spent on the rest of a response, so that a polite receiver sees no broken connection. */
const MAX_REST_BYTES = 16 * 1024;
const REST_MS = 1000;

const MAX_RETRY_AFTER_S = 3600;

/** Statuses that say that the receiver is in trouble, not that it dislikes the message. */
const OF_RECEIVER = [408, 425, 429];

const GONE = 410;

class AddressRefused extends Error {}

export function webhookSender(options: WebhookSenderOptions): WebhookSender {
  const open = new Set<ClientRequest>();
  const { resolve = resolveBySystem } = options;
  const isPermitted = permittedAddresses(options.privateNetworks);
  const lookup = checkedLookup(resolve, isPermitted);
  return {
    send: async (message) => {
      const url = new URL(message.url);
      const refusal = refusalOf(url, options.allowHttp, isPermitted);
      if (refusal !== undefined) return failed(refusal);
      const headers = headersOf(message, url, options);
      return post(url, { message, headers, lookup, options, open });
    },
    close: () => {
      for (const request of open) request.destroy();
    },
  };
}

interface Post {
  readonly message: WebhookMessage;
  readonly headers: Readonly<Record<string, string>>;
  readonly lookup: LookupFunction;
  readonly options: WebhookSenderOptions;
  readonly open: Set<ClientRequest>;
}

function post(url: URL, { message, headers, lookup, options, open }: Post): Promise<SendOutcome> {
  const { timers, timeoutMs, ca } = options;
  return new Promise((settle) => {
    const settings = { method: 'POST', headers, lookup, agent: false as const };
    const request =
      url.protocol === 'https:'
        ? httpsRequest(url, { ...settings, ...(ca === null ? {} : { ca }) })
        : httpRequest(url, settings);
    open.add(request);
    const timer = timers.after(timeoutMs, () => {
      settle(failed(`did not respond within ${timeoutMs / 1000} s`, { receiver: 'DOWN' }));
      request.destroy();
    });
    request.on('close', () => {
      timer.cancel();
      open.delete(request);
      settle(failed('closed the connection without a response', { receiver: 'DOWN' }));
    });
    request.on('error', (error) => settle(failedBy(error)));
    request.on('response', (response) => {
      timer.cancel();
      settle(outcomeOf(response));
      discard(response, timers);
    });
    request.end(message.body);
  });
}

function headersOf(
  { id, timestampS, body }: WebhookMessage,
  { origin }: URL,
  { keys, version }: WebhookSenderOptions,
): Record<string, string> {
  const secrets = keys.map((key) => receiverSecret(key, origin));
  return {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `workbench-hub/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures(secrets, { id, timestampS, body }),
  };
}

/** Why nothing may be sent to this address, before its name is resolved. An IP address is never resolved. */
function refusalOf(
  { protocol, hostname }: URL,
  allowHttp: boolean,
  isPermitted: (address: string) => boolean,
): string | undefined {
  if (protocol !== 'https:' && !allowHttp)
    return 'its address is not https, which webhooks.allowHttp would permit';
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(literal) === 0 || isPermitted(literal) ? undefined : NOT_PERMITTED;
}

const NOT_PERMITTED =
  'its address is in a network that is not public and that webhooks.privateNetworks does not list';

function checkedLookup(resolve: Resolver, isPermitted: (address: string) => boolean): LookupFunction {
  return (hostname, { all }, found) => {
    resolve(hostname, (error, addresses) => {
      if (error) return found(error, '', 0);
      const permitted = addresses.filter(({ address }) => isPermitted(address));
      const [first] = permitted;
      if (!first) return found(new AddressRefused(NOT_PERMITTED), '', 0);
      if (all)
        return found(
          null,
          permitted.map(({ address, family }) => ({ address, family })),
        );
      return found(null, first.address, first.family);
    });
  };
}

const resolveBySystem: Resolver = (hostname, found) =>
  systemLookup(hostname, { all: true }, (error, addresses) => found(error, addresses ?? []));

type Failure = Extract<SendOutcome, { kind: 'FAILED' }>;

function failed(fault: string, details: Partial<Failure> = {}): SendOutcome {
  return { kind: 'FAILED', fault, receiver: 'UNKNOWN', isFinal: false, retryAfterMs: 0, ...details };
}

function failedBy(error: Error): SendOutcome {
  if (error instanceof AddressRefused) return failed(error.message);
  const { code } = error as NodeJS.ErrnoException;
  return failed(`could not be reached (${code ?? error.message})`, { receiver: 'DOWN' });
}

function outcomeOf({ statusCode = 0, headers }: IncomingMessage): SendOutcome {
  if (statusCode >= 200 && statusCode < 300) return { kind: 'DELIVERED' };
  const redirected = statusCode >= 300 && statusCode < 400 ? '; redirects are not followed' : '';
  return failed(`responded with ${statusCode}${redirected}`, {
    receiver: statusCode >= 500 || OF_RECEIVER.includes(statusCode) ? 'DOWN' : 'UP',
    isFinal: statusCode === GONE,
    retryAfterMs: retryAfterMs(headers['retry-after']),
  });
}

/** Only seconds are understood, not dates. */
function retryAfterMs(text: string | undefined): number {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Math.min(Number(text), MAX_RETRY_AFTER_S) * 1000 : 0;
}

function discard(response: IncomingMessage, timers: Timers): void {
  let bytes = 0;
  const timer = timers.after(REST_MS, () => response.destroy());
  response.on('error', () => undefined);
  response.on('close', () => timer.cancel());
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_REST_BYTES) response.destroy();
  });
}
