/** A call whose response is deferred. It keeps no more than the response needs, since ten thousand may wait, each of which
 *  may have sent 16 KiB of headers. */
import type { IncomingMessage } from 'node:http';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Caller } from '../../../core/access.js';
import type { RouteMetrics } from '../../../core/ports/metrics.js';
import type { Span } from '../../../core/ports/tracing.js';
import type { Access } from '../../requests/access-table.js';
import type { RequestPermit } from '../../requests/admission.js';
import type { RequestAudit } from '../../requests/audit.js';
import type { Guard } from '../../requests/guard.js';
import { endSpan } from '../../requests/request-spans.js';
import { Client, type TrustedProxies } from '../../wire/client.js';
import { deferredErrorResponse, pathOf } from '../../wire/errors.js';
import { requestIdOf } from '../../wire/request-id.js';
import type { DeferredRequest } from './deferred-response.js';

/** Properties that all calls of an endpoint share. */
export interface DeferredRoute {
  readonly method: string;
  readonly access: Access;
  readonly guard: Guard;
  readonly audit: RequestAudit | null;
  readonly metric: RouteMetrics;
  readonly trustedProxies: TrustedProxies;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** A request that was admitted. */
export interface AdmittedRequest {
  readonly span: Span;
  readonly permit: RequestPermit;
  /** Time of admission by the wall clock. */
  readonly admittedAtMs: number;
}

export class DeferredCall implements DeferredRequest {
  readonly #route: DeferredRoute;
  readonly #incoming: IncomingMessage;
  readonly #span: Span;
  readonly #permit: RequestPermit;
  readonly #admittedAtMs: number;
  readonly #address: string;
  #caller: Caller | null = null;

  constructor(
    route: DeferredRoute,
    incoming: IncomingMessage,
    { span, permit, admittedAtMs }: AdmittedRequest,
  ) {
    this.#route = route;
    this.#incoming = incoming;
    this.#span = span;
    this.#permit = permit;
    this.#admittedAtMs = admittedAtMs;
    this.#address = copied(new Client(incoming, route.trustedProxies).address);
    shed(incoming);
  }

  reauthorize(): unknown {
    const { guard, access } = this.#route;
    const { authorization } = this.#incoming.headers;
    const identified = (caller: Caller) => {
      this.#caller = caller;
    };
    return guard(access, authorization, identified, this.#admittedAtMs);
  }

  failed(error: unknown): Response {
    const { method, audit, runtime, log } = this.#route;
    const url = new URL(this.#incoming.url ?? '', 'http://hub').href;
    const address = this.#address;
    audit?.failed({ path: pathOf(url), address, audit: {}, caller: this.#caller }, error);
    const requestId = requestIdOf(this.#incoming);
    return deferredErrorResponse(error, { method, url, requestId }, runtime, log);
  }

  ended(status: number | null): void {
    this.#permit.release();
    endSpan(this.#span, status);
    if (status !== null) this.#route.metric.answered(status, null);
  }
}

/** Drops what the client has sent beyond the path, the authorization and what the response depends on. */
function shed(incoming: IncomingMessage): void {
  const { headers } = incoming;
  const kept = KEPT_HEADERS.filter((name) => headers[name] !== undefined);
  // The listener of Hono wants a host, of any name.
  incoming.headers = { host: 'hub', ...Object.fromEntries(kept.map((name) => [name, headers[name]])) };
  incoming.rawHeaders = [];
  incoming.url = copied(incoming.url?.split('?', 1)[0] ?? '');
}

/** Headers of few bytes, but for the first. */
const KEPT_HEADERS = ['authorization', 'accept-encoding', 'content-length', 'transfer-encoding'];

/** A part of a string keeps the whole of it in memory; a copy does not. */
function copied(text: string): string {
  return Buffer.from(text).toString();
}
