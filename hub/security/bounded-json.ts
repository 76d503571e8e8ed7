/** Fetch of a small JSON document from a foreign server: bounded in time and size, without redirects. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';

export interface JsonSource {
  readonly timers: Timers;
  /** Trusted certificates in PEM instead of Node's; null for Node's. */
  readonly ca: string | null;
}

/** Maximum time from the first byte sent to the last one read. */
const TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;

/** Rejects with an Error that tells the operator what was wrong. */
export function fetchJson(address: string, { timers, ca }: JsonSource): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const url = new URL(address);
    const tls = ca === null ? {} : { ca };
    const options = { headers: { accept: 'application/json' }, agent: false as const };
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
      if (response.statusCode !== 200) {
        fail(new Error(`responded with ${response.statusCode} instead of 200; redirects are not followed`));
        return;
      }
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
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')));
        } catch {
          fail(new Error('did not answer JSON'));
        }
      });
    });
    request.end();
  });
}
