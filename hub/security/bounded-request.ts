/** Requests to a foreign server: bounded in time and size, without redirects. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';

export interface ForeignServer {
  readonly timers: Timers;
  /** Trusted certificates in PEM instead of Node's; null for Node's. */
  readonly ca: string | null;
}

export interface BoundedRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface BoundedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Maximum time from the first byte sent to the last one read. */
const TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;

/** Sends a request. Rejects with an Error that tells the operator what was wrong. */
export function boundedRequest(
  address: string,
  { method = 'GET', headers = { accept: 'application/json' }, body = '' }: BoundedRequest,
  { timers, ca }: ForeignServer,
): Promise<BoundedResponse> {
  return new Promise((resolve, reject) => {
    const url = new URL(address);
    const tls = ca === null ? {} : { ca };
    const options = { method, headers, agent: false as const };
    const request =
      url.protocol === 'https:' ? httpsRequest(url, { ...options, ...tls }) : httpRequest(url, options);
    const fail = (error: Error) => {
      timer.cancel();
      request.destroy();
      reject(new Error(`${address}: ${error.message || (error as NodeJS.ErrnoException).code}`));
    };
    const timer = timers.after(TIMEOUT_MS, () =>
      fail(new Error(`no response within ${TIMEOUT_MS / 1000} s`)),
    );
    request.on('error', fail);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('error', fail);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) fail(new Error(`responded with more than ${MAX_BYTES} bytes`));
        else chunks.push(chunk);
      });
      response.on('end', () => {
        timer.cancel();
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    request.end(body);
  });
}

/** The JSON document at this address. Rejects with an Error that tells the operator what was wrong. */
export async function fetchJson(address: string, server: ForeignServer): Promise<unknown> {
  const { status, body } = await boundedRequest(address, {}, server);
  if (status !== 200)
    throw new Error(`${address}: responded with ${status} instead of 200; redirects are not followed`);
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new Error(`${address}: did not answer JSON`, { cause: error });
  }
}
