/** The HTTP application: endpoints become routes, and every error becomes the error body. */
import type { HttpBindings } from '@hono/node-server';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type Handler, Hono } from 'hono';
import { type AgentRouteOptions, serveAgentRoutes } from './endpoints/agents/agent-routes.js';
import { isPageRequest, serveConsole, unknownPage } from './endpoints/console/console-routes.js';
import type { Site } from './endpoints/console/site.js';
import { refuseUnlessLoopback } from './requests/loopback-only.js';
import { cors } from './requests/origins.js';
import { serveDocs } from './routing/docs-page.js';
import type { Endpoint } from './routing/endpoint.js';
import { type EndpointServices, endpointHandler } from './routing/endpoint-handler.js';
import { OPENAPI_PATH } from './routing/openapi.js';
import { Routes, unknownPath } from './routing/routes.js';
import { StaticFirstRouter } from './routing/static-first-router.js';
import { errorResponse } from './wire/errors.js';
import { routeOf } from './wire/target-path.js';

export interface AppOptions extends EndpointServices {
  readonly endpoints: readonly Endpoint[];
  /** Makes the document at its first request, so that it does not delay the start. */
  readonly openApiDocument: () => object;
  /** The pages of the console; null serves none. */
  readonly site: Site | null;
  /** Whether loopback is all that protects the hub. */
  readonly loopbackOnly: boolean;
  readonly agents: Omit<AgentRouteOptions, 'metrics' | 'tracing' | 'clock' | 'log'>;
}

export function createApp(options: AppOptions): Hono {
  const { endpoints, origins, metrics, tracing, runtime, log } = options;
  // One handler for each request where possible: for a chain of them, Hono creates promises for each.
  const app = new Hono({ router: new StaticFirstRouter() });
  const unrouted = metrics.ofRoute('any', 'none');
  // Before CORS and the check for loopback: no browser has the credential of an agent.
  serveAgentRoutes(app, { ...options.agents, metrics, tracing, clock: runtime.clock, log });
  if (origins.allowed.size > 0) app.use(cors(origins.allowed));
  const routes = new Routes(app, (context) => {
    if (options.loopbackOnly) refuseUnlessLoopback((context.env as HttpBindings).incoming);
  });
  for (const endpoint of endpoints) {
    const { method, path } = endpoint.spec;
    routes.add(method.toUpperCase(), routeOf(path), endpointHandler(endpoint, options));
  }
  serveOpenApi(routes, options.openApiDocument);
  const get = (path: string, handler: Handler) => routes.add('GET', path, handler);
  serveDocs(get);
  const { site } = options;
  if (site !== null) serveConsole(site, get);
  app.notFound((context) => {
    const error = routes.refusalOfUnmatched(context);
    const isUnknown = error.code === 'UNKNOWN_PATH';
    unrouted.answered(isUnknown ? 404 : 405, null);
    if (isUnknown && site !== null && isPageRequest(context)) return unknownPage(site, context);
    throw error;
  });
  app.onError((error, context) => errorResponse(error, context, runtime, log));
  return app;
}

/** Application for agents alone, without the endpoints of clients. */
export function createAgentApp(options: AgentRouteOptions & { readonly runtime: Runtime }): Hono {
  const app = new Hono();
  serveAgentRoutes(app, options);
  app.notFound(() => {
    throw unknownPath();
  });
  app.onError((error, context) => errorResponse(error, context, options.runtime, options.log));
  return app;
}

function serveOpenApi(routes: Routes, openApiDocument: () => object): void {
  // One copy for all clients, also for those that do not read it.
  let document: Buffer<ArrayBuffer> | undefined;
  routes.add('GET', OPENAPI_PATH, (context) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument()));
    return context.body(document, 200, { 'content-type': 'application/json' });
  });
}
