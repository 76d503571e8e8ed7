/** The HTTP application: endpoints become routes; whatever goes wrong becomes the error body. */
import type { HttpBindings } from '@hono/node-server';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type Context, type Handler, Hono } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import { HubError } from '../../core/errors.js';
import type { AuditTrail } from '../../core/ports/audit.js';
import type { Hold } from '../../core/ports/files.js';
import type { RequestMetrics } from '../../core/ports/metrics.js';
import type { RequestTracing } from '../../core/ports/tracing.js';
import { accessTo, isAlwaysServed } from '../middleware/access-table.js';
import { type Admission, ALWAYS_ADMITTED, type RequestPermit } from '../middleware/admission.js';
import { auditOf, type SeenRequest } from '../middleware/audit.js';
import { type BodyReader, readJson } from '../parsing/body.js';
import { Client, type TrustedProxies } from '../middleware/client.js';
import { DeferredCall, type UnderWay } from '../responses/deferred-call.js';
import { DeferredResponse, deferResponse } from '../responses/deferred-response.js';
import { serveDocs } from '../openapi/docs-page.js';
import type { Endpoint } from './endpoint.js';
import { errorResponse, pathOf, statusOf } from '../responses/errors.js';
import type { Guard } from '../middleware/guard.js';
import { refuseUnlessLoopback } from '../middleware/loopback-only.js';
import { OPENAPI_PATH } from '../openapi/openapi.js';
import { cors, isCookiePath, type Origins, refuseForeignOrigin } from '../middleware/origins.js';
import { requestIdOf } from '../middleware/request-id.js';
import { endSpan, requestSpans } from '../middleware/request-spans.js';
import { roomOf } from '../server/response-memory.js';
import { StaticFirstRouter } from './static-first-router.js';
import { isSpelledLike, targetPathOf } from './target-path.js';
import { validated } from '../parsing/validation.js';

export interface AppOptions {
  readonly endpoints: readonly Endpoint[];
  /** Made when it is asked for the first time, which not every hub is, and keeps no start waiting. */
  readonly openApiDocument: () => object;
  readonly readBody: BodyReader;
  readonly admission: Admission;
  /** Whether loopback is all that protects the hub. */
  readonly loopbackOnly: boolean;
  readonly origins: Origins;
  readonly guard: Guard;
  /** Null: nothing is recorded. */
  readonly audit: AuditTrail | null;
  readonly metrics: RequestMetrics;
  readonly tracing: RequestTracing;
  readonly trustedProxies: TrustedProxies;
  /** Begins a hold on contents for a request that brings some. */
  readonly hold: () => Hold;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** A request that takes longer is looked at again before its body counts or its answer is given: the user may have been
 *  disabled meanwhile, the session ended, the role lost. */
const LATE_AFTER_MS = 1000;

/** A log-in is much less. */
const OPEN_BODY = { bytes: 16 * 1024, setBy: 'without a token' };

/** Of a request that brings no contents. */
const NO_HOLD: Hold = { add: () => undefined, release: () => undefined, abandon: () => undefined };

export function createApp(options: AppOptions): Hono {
  const { endpoints, openApiDocument, readBody, admission, origins, guard, trustedProxies, runtime } =
    options;
  const { log, metrics } = options;
  const { clock } = runtime;
  // One handler a request, wherever that will do: for a chain of them, Hono makes promises for each.
  const app = new Hono({ router: new StaticFirstRouter() });
  if (origins.allowed.size > 0) app.use(cors(origins.allowed));
  const refuse = (context: Context) => {
    if (options.loopbackOnly) refuseUnlessLoopback((context.env as HttpBindings).incoming);
  };
  const isSpelled = (context: Context, path: string) =>
    isSpelledLike(path, targetPathOf((context.env as HttpBindings).incoming), context.req.path);
  const allowed = new Map<string, string[]>();
  const route = (method: string, path: string, handler: Handler) => {
    allowed.set(path, [...(allowed.get(path) ?? []), method]);
    app.on(method, path, (context, next) => {
      refuse(context);
      if (!isSpelled(context, path)) throw unknownPath();
      return handler(context, next);
    });
  };

  for (const { spec, handle } of endpoints) {
    const path = spec.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const method = spec.method.toUpperCase();
    const access = accessTo(method, spec.path);
    // Whoever has shown nothing yet has little to say.
    const read: BodyReader =
      access === 'OPEN' ? (context, _, place) => readJson(context, OPEN_BODY, place) : readBody;
    const enter = isAlwaysServed(spec.path, access) ? () => ALWAYS_ADMITTED : () => admission.enter();
    const isLarge = spec.isLarge === true && !isAlwaysServed(spec.path, access);
    const audit = auditOf(spec, options.audit, clock);
    const metric = metrics.ofRoute(method, spec.path);
    const lateRoute = { method, access, guard, audit, metric, trustedProxies, runtime, log };
    const beginSpan = requestSpans(options.tracing, method, spec.path);

    const answer = async (
      context: Context,
      client: Client,
      seen: SeenRequest,
      underWay: UnderWay,
      hold: Hold,
      startedMs: number,
    ) => {
      const { span, place } = underWay;
      const { incoming, outgoing } = context.env as HttpBindings;
      const room = roomOf(outgoing);
      if (isCookiePath(spec.path)) refuseForeignOrigin(incoming, origins);
      const caller = await guard(access, incoming.headers.authorization, (identified) => {
        seen.caller = identified;
      });
      const lookAgain = async () => {
        const { authorization } = incoming.headers;
        seen.caller = await guard(access, authorization, () => undefined, underWay.admittedAtMs);
      };
      const isLate = () => clock.monotonicMs() - startedMs > LATE_AFTER_MS;
      const params = spec.params ? validated(spec.params, context.req.param()) : undefined;
      const query = spec.query ? validated(spec.query, queryOf(context)) : undefined;
      spec.admit?.();
      if (isLarge) room.hold(0);
      const body = spec.body
        ? validated(spec.body, await read(context, spec.contents, place, hold))
        : undefined;
      if (spec.body && isLate()) await lookAgain();
      // A form is still on its way: the endpoint reads it itself.
      if (!spec.form) place.work();
      const answered = await handle({
        params,
        query,
        body,
        context,
        caller,
        client,
        requestId: requestIdOf(incoming),
        traceContext: span.context,
        room,
        lookAgain,
        note: seen.note,
        hold,
      });
      // What a request has changed is told in any case.
      if (method === 'GET' && isLate() && !(answered instanceof DeferredResponse)) {
        await lookAgain().catch(async (refusal: unknown) => {
          await answered.body?.cancel();
          throw refusal;
        });
      }
      return answered;
    };

    route(method, path, async (context) => {
      const startedMs = clock.monotonicMs();
      const { incoming } = context.env as HttpBindings;
      const client = new Client(incoming, trustedProxies);
      // Who has gone away by the end was here at the beginning.
      const address = audit ? client.address : '';
      const seen: SeenRequest = {
        path: audit ? pathOf(context.req.url) : '',
        address,
        note: {},
        caller: null,
      };
      const span = beginSpan(incoming);
      const hold = spec.contents ? options.hold() : NO_HOLD;
      let place: RequestPermit | undefined;
      try {
        place = enter();
        const underWay = { span, place, admittedAtMs: clock.nowMs() };
        const answered = await answer(context, client, seen, underWay, hold, startedMs);
        hold.release();
        if (answered instanceof DeferredResponse) {
          const { outgoing } = context.env as HttpBindings;
          place.rest();
          return deferResponse(
            answered,
            { incoming, outgoing },
            new DeferredCall(lateRoute, incoming, underWay),
          );
        }
        place.leave();
        endSpan(span, answered.status);
        metric.answered(answered.status, clock.monotonicMs() - startedMs);
        audit?.answered(seen, answered.status);
        return answered;
      } catch (error) {
        hold.abandon();
        place?.leave();
        endSpan(span, statusOf(error));
        metric.answered(statusOf(error), clock.monotonicMs() - startedMs);
        audit?.failed(seen, error);
        throw error;
      }
    });
  }

  // One copy for all clients, also for those that do not take it.
  let document: Buffer<ArrayBuffer> | undefined;
  route('GET', OPENAPI_PATH, (context) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument()));
    return context.body(document, 200, { 'content-type': 'application/json' });
  });
  serveDocs((path, handler) => route('GET', path, handler));

  const elsewhere = metrics.ofRoute('any', 'none');
  const methodsOf = new TrieRouter<{ readonly path: string; readonly methods: readonly string[] }>();
  for (const [path, methods] of allowed) methodsOf.add('ALL', path, { path, methods });
  const nothingHere = (context: Context): Response => {
    const [[match]] = methodsOf.match('ALL', context.req.path);
    const found = match && isSpelled(context, match[0].path) ? match[0] : undefined;
    elsewhere.answered(found ? 405 : 404, null);
    if (!found) throw unknownPath();
    const methods = found.methods.join(', ');
    context.header('Allow', methods);
    throw new HubError('METHOD_NOT_ALLOWED', `${context.req.method} is not allowed here, only ${methods}`);
  };
  app.notFound((context) => {
    refuse(context);
    return nothingHere(context);
  });
  app.onError((error, context) => errorResponse(error, context, runtime, log));
  return app;
}

function unknownPath(): HubError {
  return new HubError('UNKNOWN_PATH', `there is nothing at this path; ${OPENAPI_PATH} tells what there is`);
}

/** Parameters that are given once as texts, others as lists. */
function queryOf(context: Context): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  for (const [name, values] of Object.entries(context.req.queries())) {
    query[name] = values.length === 1 ? (values[0] as string) : values;
  }
  return query;
}
