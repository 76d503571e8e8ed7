/** Composition of the hub's own instances: an agent as a child process, and a server on loopback for it alone. */
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { OnStop } from '@workbench-hub/shared/runtime/service';
import { AgentAuthenticator } from '../agent-link/agent-authenticator.js';
import { serveAgents } from '../agent-link/endpoint.js';
import type { HubConfig } from '../config.js';
import { createAgentApp } from '../http/app.js';
import { ResponseMemory } from '../http/wire/response-memory.js';
import { upgradeRefuser } from '../http/wire/server/malformed-requests.js';
import { WebServer } from '../http/wire/server/web-server.js';
import { type OwnAgent, ownAgent } from '../own-agent/own-agent.js';
import type { HubParts } from './hub-parts.js';
import { linkTerms } from './link-terms.js';

const SECRET_BYTES = 32;
/** Time that the agent's last requests get to complete when the hub stops. */
const STOP_GRACE_MS = 2000;

/** Secret of the hub's own agent, new at each start and kept in memory only; null without own instances. */
export function newOwnSecret({ instances }: HubConfig): string | null {
  return instances.length === 0 ? null : randomBytes(SECRET_BYTES).toString('base64url');
}

/** Starts the agent of the own instances; null if there are none. */
export async function startOwnInstances(parts: HubParts, onStop: OnStop): Promise<OwnAgent | null> {
  const { config, ownSecret, runtime, log } = parts;
  if (ownSecret === null) return null;
  const server = ownServer(parts);
  const address = await server.listen();
  onStop(() => server.close(STOP_GRACE_MS));
  const agent = ownAgent({
    config: agentConfig(config, {
      id: parts.credentials.ownAgentId,
      hub: address.replace(/^http/, 'ws'),
      token: ownSecret,
    }),
    drainTimeoutMs: config.instanceHost.drainTimeout,
    runtime,
    log,
  });
  await agent.start();
  onStop(() => agent.stop());
  return agent;
}

function ownServer(parts: HubParts): WebServer {
  const { config, credentials, engine, files, metrics, tracing, audit, runtime, log } = parts;
  const { clock, timers } = runtime;
  const authenticator = new AgentAuthenticator({
    credentials,
    wantsCertificate: false,
    ownOnly: true,
    addressOf: ({ socket }) => socket.remoteAddress ?? null,
    networkOf: ({ socket }) => socket.remoteAddress ?? null,
    audit,
    clock,
    log,
  });
  const app = createAgentApp({
    files,
    sentBlobs: engine.sentBlobs,
    credentials,
    updates: parts.updates,
    guard: authenticator,
    metrics: metrics.requests,
    tracing,
    timers,
    clock,
    runtime,
    log,
  });
  const web = new WebServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    timers,
    clock,
    newId: () => runtime.newId(),
    slowClients: config.limits,
    responseMemory: new ResponseMemory(config.limits.answersInMemory),
    log,
    fetch: app.fetch,
  });
  serveAgents(web.server, {
    agents: engine.agents,
    authenticator,
    credentials,
    refuse: upgradeRefuser(clock),
    runtime,
    log,
    hubVersion: buildInfo.version,
    ...linkTerms(config),
  });
  return web;
}

/** Configuration of the agent in the form of its file. */
function agentConfig(
  { dataDir, instances, instanceHost, log }: HubConfig,
  own: { readonly id: string; readonly hub: string; readonly token: string },
): Readonly<Record<string, unknown>> {
  return {
    ...own,
    dataDir: resolve(dataDir, 'own-agent'),
    fileRoots: instanceHost.fileRoots,
    uncMounts: instanceHost.uncMounts,
    keepWorkingDirectories: instanceHost.keepWorkingDirectories,
    drainTimeout: `${instanceHost.drainTimeout}ms`,
    platformLabels: instanceHost.platformLabels,
    log: { level: log.level },
    instances: instances.map(({ startTimeout, stopTimeout, cancelTimeout, ...instance }) => ({
      ...instance,
      startTimeout: `${startTimeout}ms`,
      stopTimeout: `${stopTimeout}ms`,
      cancelTimeout: `${cancelTimeout}ms`,
    })),
  };
}
