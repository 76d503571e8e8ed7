/** Composition of the server for clients and agents. */
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { AgentAuthenticator } from '../agent-link/agent-authenticator.js';
import { serveAgents } from '../agent-link/endpoint.js';
import type { OpenConnections } from '../agent-link/open-connections.js';
import { createApp } from '../http/app.js';
import { ownSite } from '../http/endpoints/console/site.js';
import { Admission } from '../http/requests/admission.js';
import { bodyReader } from '../http/requests/parsing/body.js';
import { openApiDocument } from '../http/routing/openapi.js';
import { Client, trustedProxies } from '../http/wire/client.js';
import { ResponseMemory } from '../http/wire/response-memory.js';
import { upgradeRefuser } from '../http/wire/server/malformed-requests.js';
import { WebServer } from '../http/wire/server/web-server.js';
import { hubEndpoints } from './hub-endpoints.js';
import type { HubParts } from './hub-parts.js';
import { linkTerms } from './link-terms.js';

type Proxies = ReturnType<typeof trustedProxies>;

export interface WebInterface {
  readonly web: WebServer;
  readonly agentConnections: OpenConnections;
}

/** A server that does not listen yet; `isReady` is the hub's answer to readiness probes. */
export function createWebInterface(parts: HubParts, isReady: () => boolean): WebInterface {
  const { config, runtime, log, tls, otherHubs } = parts;
  const proxies = trustedProxies(config.server.trustedProxies);
  const authenticator = agentAuthenticator(parts, proxies);
  const web = new WebServer({
    host: config.server.host,
    port: config.server.port,
    tls: tls?.content ?? null,
    timers: runtime.timers,
    clock: runtime.clock,
    newId: () => runtime.newId(),
    slowClients: config.limits,
    responseMemory: new ResponseMemory(config.limits.answersInMemory),
    log,
    fetch: createWebApp(parts, { proxies, authenticator, isReady }).fetch,
  });
  const agentConnections = serveAgents(web.server, {
    agents: parts.engine.agents,
    isReady,
    otherHubs,
    authenticator,
    credentials: parts.credentials,
    refuse: upgradeRefuser(runtime.clock),
    runtime,
    log,
    hubVersion: buildInfo.version,
    ...linkTerms(config),
  });
  return { web, agentConnections };
}

interface Access {
  readonly proxies: Proxies;
  readonly authenticator: AgentAuthenticator;
  readonly isReady: () => boolean;
}

function createWebApp(parts: HubParts, { proxies, authenticator, isReady }: Access) {
  const { config, files, runtime, log, metrics, tracing, accounts, audit, engine, credentials } = parts;
  const { security, limits, server } = config;
  const endpoints = hubEndpoints(parts, isReady);
  return createApp({
    endpoints,
    agents: {
      files,
      sentBlobs: engine.sentBlobs,
      credentials,
      updates: parts.updates,
      guard: authenticator,
      timers: runtime.timers,
    },
    openApiDocument: () =>
      openApiDocument(endpoints, {
        build: buildInfo,
        isSecurityOn: security.enabled,
        publicUrl: server.publicUrl,
      }),
    readBody: bodyReader({
      maxBytes: limits.requestBody,
      files,
      limits: { maxFileBytes: limits.fileSize, maxFiles: limits.filesPerTask },
    }),
    admission: new Admission(limits),
    site: config.console.enabled ? ownSite() : null,
    loopbackOnly: !security.enabled && !security.allowInsecure,
    guard: accounts.guard,
    origins: { publicUrl: server.publicUrl, allowed: new Set(security.corsOrigins) },
    audit,
    metrics: metrics.requests,
    tracing,
    trustedProxies: proxies,
    hold: () => files.hold(),
    runtime,
    log,
  });
}

function agentAuthenticator(
  { credentials, tls, audit, runtime, log }: HubParts,
  proxies: Proxies,
): AgentAuthenticator {
  return new AgentAuthenticator({
    credentials,
    wantsCertificate: tls?.content.ca !== undefined,
    addressOf: (request) => new Client(request, proxies).address || null,
    networkOf: (request) => new Client(request, proxies).network || null,
    audit,
    clock: runtime.clock,
    log,
  });
}
