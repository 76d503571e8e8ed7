/** Handling of the requests to one endpoint: admission, identification, validation and use case, with span, metrics and audit. */
import type { HttpBindings } from '@hono/node-server';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Context, Handler } from 'hono';
import type { Caller } from '../../core/access.js';
import type { AuditTrail } from '../../core/ports/audit.js';
import type { Hold } from '../../core/ports/blobs.js';
import type { RequestMetrics, RouteMetrics } from '../../core/ports/metrics.js';
import type { RequestTracing } from '../../core/ports/tracing.js';
import { type Access, accessTo, isAlwaysServed } from '../requests/access-table.js';
import { type Admission, ALWAYS_ADMITTED, type RequestPermit, type Sender } from '../requests/admission.js';
import { type AuditedRequest, auditOf, type RequestAudit } from '../requests/audit.js';
import { type Guard, openGuard } from '../requests/guard.js';
import { isCookiePath, type Origins, refuseForeignOrigin } from '../requests/origins.js';
import type { BodyReader } from '../requests/parsing/body.js';
import { openBodyReader } from '../requests/parsing/open-body.js';
import { unknownFieldsOf, unknownFieldsWarning } from '../requests/parsing/unknown-fields.js';
import { validated } from '../requests/parsing/validation.js';
import { endSpan, requestSpans, type SpanOfRequest } from '../requests/request-spans.js';
import { Client, type TrustedProxies } from '../wire/client.js';
import { pathOf, statusOf } from '../wire/errors.js';
import { requestIdOf } from '../wire/request-id.js';
import { type ResponseRoom, roomOf } from '../wire/response-memory.js';
import type { Endpoint, EndpointResult } from './endpoint.js';
import { type AdmittedRequest, DeferredCall, type DeferredRoute } from './responses/deferred-call.js';
import { DeferredResponse, deferResponse } from './responses/deferred-response.js';
import { EventStreamResponse, streamEvents } from './responses/event-stream.js';

/** Services that all endpoints share. */
export interface EndpointServices {
  readonly readBody: BodyReader;
  readonly admission: Admission;
  readonly origins: Origins;
  readonly guard: Guard;
  /** Null: nothing is recorded. */
  readonly audit: AuditTrail | null;
  readonly metrics: RequestMetrics;
  readonly tracing: RequestTracing;
  readonly trustedProxies: TrustedProxies;
  /** Begins a hold on blobs for a request that brings some. */
  readonly hold: () => Hold;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** A request that takes longer is authorized again before its body counts or its response is sent: meanwhile the user may
 *  have been disabled, the session ended, or the role lost. */
const SLOW_AFTER_MS = 1000;

/** Hold of a request without blobs. */
const NO_HOLD: Hold = { add: () => undefined, release: () => undefined, abandon: () => undefined };

/** One request to an endpoint. */
interface Call extends AdmittedRequest {
  readonly context: Context;
  readonly client: Client;
  readonly audited: AuditedRequest;
  readonly hold: Hold;
  readonly startedMs: number;
}

export function endpointHandler(endpoint: Endpoint, services: EndpointServices): Handler {
  const handler = new EndpointHandler(endpoint, services);
  return (context) => handler.serve(context);
}

class EndpointHandler {
  readonly #endpoint: Endpoint;
  readonly #services: EndpointServices;
  readonly #method: string;
  readonly #access: Access;
  readonly #readBody: BodyReader;
  readonly #isAlwaysServed: boolean;
  /** Whether users and addresses have shares of what is limited. */
  readonly #isShared: boolean;
  readonly #responseHeaders: readonly (readonly [string, string])[];
  readonly #usesCookie: boolean;
  readonly #audit: RequestAudit | null;
  readonly #metric: RouteMetrics;
  readonly #beginSpan: SpanOfRequest;
  readonly #deferred: DeferredRoute;

  constructor(endpoint: Endpoint, services: EndpointServices) {
    const { method, path } = endpoint.spec;
    this.#endpoint = endpoint;
    this.#services = services;
    this.#method = method.toUpperCase();
    this.#access = accessTo(this.#method, path);
    this.#readBody = this.#access === 'OPEN' ? openBodyReader(services.runtime.timers) : services.readBody;
    this.#isShared = services.guard !== openGuard;
    this.#isAlwaysServed = isAlwaysServed(path, this.#access);
    this.#responseHeaders = Object.entries(endpoint.spec.responseHeaders ?? {});
    this.#usesCookie = isCookiePath(path);
    this.#audit = auditOf(endpoint.spec, services.audit, services.runtime.clock);
    this.#metric = services.metrics.ofRoute(this.#method, path);
    this.#beginSpan = requestSpans(services.tracing, this.#method, path);
    const { guard, trustedProxies, runtime, log } = services;
    const route = { method: this.#method, access: this.#access, audit: this.#audit, metric: this.#metric };
    this.#deferred = { ...route, guard, trustedProxies, runtime, log };
  }

  async serve(context: Context): Promise<Response> {
    const { clock } = this.#services.runtime;
    const { admission, trustedProxies } = this.#services;
    const startedMs = clock.monotonicMs();
    const { incoming } = context.env as HttpBindings;
    for (const [name, value] of this.#responseHeaders) context.header(name, value);
    const client = new Client(incoming, trustedProxies);
    const audited = this.#audited(context, client);
    const span = this.#beginSpan(incoming);
    const { blobs, form } = this.#endpoint.spec;
    const hold = blobs || form ? this.#services.hold() : NO_HOLD;
    let permit: RequestPermit | undefined;
    try {
      permit = this.#isAlwaysServed ? ALWAYS_ADMITTED : admission.enter(this.#senderOf(client));
      const admittedAtMs = clock.nowMs();
      const call = { context, client, audited, hold, startedMs, span, permit, admittedAtMs };
      const result = await this.#handle(call);
      hold.release();
      if (isDeferred(result)) return this.#defer(result, call);
      permit.release();
      endSpan(span, result.status);
      this.#metric.answered(result.status, clock.monotonicMs() - startedMs);
      this.#audit?.completed(audited, result.status);
      return result;
    } catch (error) {
      hold.abandon();
      permit?.release();
      endSpan(span, statusOf(error));
      this.#metric.answered(statusOf(error), clock.monotonicMs() - startedMs);
      this.#audit?.failed(audited, error);
      throw error;
    }
  }

  async #handle(call: Call): Promise<EndpointResult> {
    const { spec, handle } = this.#endpoint;
    const { context, client, audited, hold, permit } = call;
    const { incoming, outgoing } = context.env as HttpBindings;
    const room = roomOf(outgoing);
    if (this.#usesCookie) refuseForeignOrigin(incoming, this.#services.origins);
    let caller = await this.#services.guard(this.#access, incoming.headers.authorization, (identified) => {
      audited.caller = identified;
    });
    this.#countFor(caller, permit, room);
    const params = spec.params ? validated(spec.params, context.req.param()) : undefined;
    const query = spec.query ? validated(spec.query, queryOf(context)) : undefined;
    spec.admit?.();
    if (spec.isLarge && !this.#isAlwaysServed) room.hold(0);
    const unvalidated = spec.body ? await this.#readBody(context, spec.blobs, permit, hold) : undefined;
    const body = spec.body ? validated(spec.body, unvalidated) : undefined;
    if (spec.body && this.#isSlow(call)) caller = await this.#reauthorize(call);
    // The endpoint itself reads a form or a stream, which is still arriving.
    if (!spec.form && !spec.stream) permit.startWork();
    const ignoredFields = this.#ignoredFieldsOf(unvalidated);
    const result = await handle({
      params,
      query,
      body,
      context,
      caller,
      client,
      requestId: requestIdOf(incoming),
      traceContext: call.span.context,
      ignoredFields,
      room,
      reauthorize: () => this.#reauthorize(call),
      audit: audited.audit,
      hold,
    });
    if (isDeferred(result)) return result;
    if (ignoredFields !== null) result.headers.append('warning', unknownFieldsWarning(ignoredFields));
    // A change that was made is reported in any case.
    if (this.#method === 'GET' && this.#isSlow(call)) {
      await this.#reauthorize(call).catch(async (refusal: unknown) => {
        await result.body?.cancel();
        throw refusal;
      });
    }
    return result;
  }

  #defer(result: DeferredResponse | EventStreamResponse, call: Call): Response | Promise<Response> {
    const { incoming, outgoing } = call.context.env as HttpBindings;
    call.permit.suspend();
    const deferred = new DeferredCall(this.#deferred, incoming, call);
    return result instanceof EventStreamResponse
      ? streamEvents(result, { incoming, outgoing }, deferred)
      : deferResponse(result, { incoming, outgoing }, deferred);
  }

  /** The address is read now: it is unknown once the client has disconnected. */
  #audited({ req }: Context, client: Client): AuditedRequest {
    const isAudited = this.#audit !== null;
    return {
      path: isAudited ? pathOf(req.url) : '',
      address: isAudited ? client.address : '',
      audit: {},
      caller: null,
    };
  }

  #senderOf(client: Client): Sender | null {
    return this.#isShared ? { address: client.network, isOpenEndpoint: this.#access === 'OPEN' } : null;
  }

  /** Counts the request, and its response in memory, for the share of the caller. */
  #countFor({ username }: Caller, permit: RequestPermit, room: ResponseRoom): void {
    if (!this.#isShared || this.#access === 'OPEN') return;
    permit.identify(username);
    room.countFor(username);
  }

  /** Fields of a body that the endpoint does not know, where it warns of them; null for none. */
  #ignoredFieldsOf(unvalidated: unknown): string | null {
    const { body, warnsOfUnknownFields } = this.#endpoint.spec;
    return warnsOfUnknownFields && body ? unknownFieldsOf(body, unvalidated) : null;
  }

  #isSlow({ startedMs }: Call): boolean {
    return this.#services.runtime.clock.monotonicMs() - startedMs > SLOW_AFTER_MS;
  }

  /** The caller with the roles of now. */
  async #reauthorize({ context, audited, admittedAtMs }: Call): Promise<Caller> {
    const { authorization } = (context.env as HttpBindings).incoming.headers;
    const caller = await this.#services.guard(this.#access, authorization, () => undefined, admittedAtMs);
    audited.caller = caller;
    return caller;
  }
}

/** Whether the response is written after the handler has ended. */
function isDeferred(result: EndpointResult): result is DeferredResponse | EventStreamResponse {
  return result instanceof DeferredResponse || result instanceof EventStreamResponse;
}

/** Query parameters: strings for those that are given once, arrays for others. */
function queryOf(context: Context): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  for (const [name, values] of Object.entries(context.req.queries())) {
    query[name] = values.length === 1 ? (values[0] as string) : values;
  }
  return query;
}
