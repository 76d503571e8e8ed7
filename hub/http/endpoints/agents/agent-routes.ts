/** HTTP endpoints for agents, beneath `/agent/`. They are defined in shared/agent-protocol/README.md, not in the OpenAPI document. */
import type { HttpBindings } from '@hono/node-server';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Context, Handler, Hono } from 'hono';
import type { AgentFiles } from '../../../core/ports/agent-files.js';
import type { BlobStore } from '../../../core/ports/blobs.js';
import type { RequestMetrics } from '../../../core/ports/metrics.js';
import type { RequestTracing } from '../../../core/ports/tracing.js';
import type { AgentCredentials } from '../../../engine/accounts/agent-credentials.js';
import type { SentBlobs } from '../../../engine/agents/sent-blobs.js';
import { endSpan, requestSpans } from '../../requests/request-spans.js';
import { unknownPath } from '../../routing/routes.js';
import { statusOf } from '../../wire/errors.js';
import { targetPathOf } from '../../wire/target-path.js';
import type { AgentGuard } from './agent-guard.js';
import { BlobTransfer } from './blob-transfer.js';
import { Enrollment } from './enrollment.js';

export interface AgentRouteOptions {
  readonly files: BlobStore;
  readonly sentBlobs: SentBlobs;
  readonly credentials: Pick<AgentCredentials, 'exchange'>;
  readonly updates: OfferedUpdates;
  readonly guard: AgentGuard;
  readonly timers: Timers;
  readonly metrics: RequestMetrics;
  readonly tracing: RequestTracing;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Files and keys for the updates of agents. */
export interface OfferedUpdates {
  /** Null for a hub that updates no agents. */
  readonly offer: { readonly files: Pick<AgentFiles, 'find'> } | null;
  /** Keys that agents pin when they are enrolled, the newest first. */
  readonly publicKeys: readonly string[];
}

interface AgentRoute {
  /** Template, as metrics and spans name it. */
  readonly path: string;
  /** Methods that are counted one by one. */
  readonly methods: readonly string[];
  readonly handle: (context: Context) => Promise<Response>;
}

export function serveAgentRoutes(app: Hono, options: AgentRouteOptions): void {
  const { offer, publicKeys } = options.updates;
  const blobs = new BlobTransfer({ ...options, agentFiles: offer?.files ?? null });
  const enrollment = new Enrollment({ ...options, updateKeys: publicKeys });
  const serve = (pattern: string, route: AgentRoute) => app.all(pattern, observed(route, options));
  serve(AGENT_PATHS.ENROLL, {
    path: AGENT_PATHS.ENROLL,
    methods: ['POST'],
    handle: (context) => enrollment.serve(context),
  });
  serve(`${AGENT_PATHS.FILES}/:digest`, {
    path: `${AGENT_PATHS.FILES}/{digest}`,
    methods: ['GET', 'HEAD', 'PUT'],
    handle: (context) => blobs.serve(context),
  });
  serve('/agent/*', { path: 'none', methods: [], handle: (context) => blobs.serve(context) });
}

/** Handler with a span and metrics for each request; paths are served in one spelling, as those of clients are. */
function observed(
  { path, methods, handle }: AgentRoute,
  { metrics, tracing, clock }: AgentRouteOptions,
): Handler {
  const unrouted = metrics.ofRoute('any', 'none');
  const routes = new Map(
    methods.map((method) => [
      method,
      { metric: metrics.ofRoute(method, path), beginSpan: requestSpans(tracing, method, path) },
    ]),
  );
  return async (context) => {
    const { incoming } = context.env as HttpBindings;
    if (!targetPathOf(incoming).startsWith('/agent/')) {
      unrouted.answered(404, null);
      throw unknownPath();
    }
    const route = routes.get(context.req.raw.method);
    const startedMs = clock.monotonicMs();
    const span = route?.beginSpan(incoming);
    const finished = (status: number) => {
      if (span) endSpan(span, status);
      if (route) route.metric.answered(status, clock.monotonicMs() - startedMs);
      else unrouted.answered(status, null);
    };
    try {
      const response = await handle(context);
      finished(response.status);
      return response;
    } catch (error) {
      finished(statusOf(error));
      throw error;
    }
  };
}
