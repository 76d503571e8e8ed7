/**
 * The headers that tell browsers what they may do with an answer of the hub, on every answer, whatever handler writes it.
 */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.js';

const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
};

/** What the API answers is data: nothing of it may be run or shown in a frame, and nobody but the caller may keep it. */
const OF_DATA = {
  ...EVERYWHERE,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** The page for people runs its own scripts, asks this hub only, and has styles and icons written into its elements. */
const OF_DOCS = {
  ...EVERYWHERE,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

const TLS_FROM_NOW_ON = { 'strict-transport-security': 'max-age=31536000' };

/** Of the data that a hub without TLS answers with; written by hand where there is no answer of Node's. */
export const HEADERS_OF_DATA: Readonly<Record<string, string>> = OF_DATA;

const NO_STORE = block({ 'cache-control': OF_DATA['cache-control'] });
const BLOCK_OF_DATA = block(OF_DATA);
const BLOCK_OF_DOCS = block(OF_DOCS);
const BLOCK_OF_TLS = block(TLS_FROM_NOW_ON);

/** Where Node puts the head of an answer together. It is no part of its documented interface, and the only place where
 *  ready text can be added: by `setHeader` or `writeHead`, each header is checked anew for each answer, which costs three
 *  times as much as all of them here. A test sees every kind of answer carry them. */
interface HeadOfAnswer {
  _storeHeader(statusLine: string, headers: OutgoingHttpHeaders | undefined): void;
}

const { _storeHeader: storeHead } = ServerResponse.prototype as unknown as HeadOfAnswer;

export class SecureResponse extends ServerResponse<IncomingMessage> implements HeadOfAnswer {
  _storeHeader(statusLine: string, headers: OutgoingHttpHeaders | undefined): void {
    const { url = '', socket } = this.req;
    const isDocs = url.startsWith('/docs');
    let fixed = isDocs ? BLOCK_OF_DOCS : BLOCK_OF_DATA;
    if (!isDocs && choosesCaching(headers)) fixed = fixed.replace(NO_STORE, '');
    if ((socket as TLSSocket).encrypted) fixed += BLOCK_OF_TLS;
    const requestId = requestIdOf(this.req);
    if (requestId !== null) fixed += `${REQUEST_ID_HEADER}: ${requestId}\r\n`;
    storeHead.call(this, statusLine + fixed, headers);
  }
}

function choosesCaching(headers: OutgoingHttpHeaders | undefined): boolean {
  for (const name in headers) {
    if (name.length === CACHE_CONTROL.length && name.toLowerCase() === CACHE_CONTROL) return true;
  }
  return false;
}

const CACHE_CONTROL = 'cache-control';

function block(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}
