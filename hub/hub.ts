/** The composition root: the one file that knows every part of the hub. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import {
  openToOthers,
  openToOthersText,
  PRIVATE_FOLDER_MODE,
} from '@workbench-hub/shared/runtime/private-files';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Service } from '@workbench-hub/shared/runtime/service';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { type Accounts, openAccounts } from './accounts.js';
import { AgentAuthenticator } from './agent-link/agent-authenticator.js';
import { serveAgents } from './agent-link/endpoint.js';
import { auditFolderOf } from './audit/audit-folder.js';
import { openAuditLog } from './audit/audit-log.js';
import { auditReader } from './audit/audit-reader.js';
import { rateLimitedAudit } from './audit/rate-limited-audit.js';
import { accountsFileOf, type HubConfig, logFileOf, tasksFileOf } from './config.js';
import type { Passwords } from './core/ports/accounts.js';
import { NO_TRACING, type Tracing } from './core/ports/tracing.js';
import { isBackupLinking, refuseHalfRestored } from './data-folder.js';
import { AgentCredentials } from './engine/accounts/agent-credentials.js';
import { createEngine } from './engine/engine.js';
import type { StorageSettings } from './engine/storage-settings.js';
import { openBlobStore } from './files/blob-store.js';
import { diskSpace } from './files/disk-space.js';
import { actuatorEndpoints } from './http/actuator/actuator-endpoints.js';
import { logfileEndpoint } from './http/actuator/logfile-endpoint.js';
import { prometheusEndpoint } from './http/actuator/prometheus-endpoint.js';
import { refreshCookie } from './http/common/refresh-cookie.js';
import { taskRequests } from './http/common/task-requests.js';
import { Admission } from './http/middleware/admission.js';
import { Client, trustedProxies } from './http/middleware/client.js';
import { openApiDocument } from './http/openapi/openapi.js';
import { bodyReader } from './http/parsing/body.js';
import { createApp } from './http/routing/app.js';
import { upgradeRefuser } from './http/server/malformed-requests.js';
import { ResponseMemory } from './http/server/response-memory.js';
import { WebServer } from './http/server/web-server.js';
import { authEndpointsV1 } from './http/v1/auth-endpoints.js';
import { nodeEndpointsV1 } from './http/v1/node-endpoints.js';
import { taskEndpointsV1 } from './http/v1/task-endpoints.js';
import { adminEndpoints } from './http/v2/admin-endpoints.js';
import { authEndpoints } from './http/v2/auth-endpoints.js';
import { instanceControlEndpoints } from './http/v2/instance-control-endpoints.js';
import { nodeEndpoints } from './http/v2/node-endpoints.js';
import { storageEndpoints } from './http/v2/storage-endpoints.js';
import { taskEndpoints } from './http/v2/task-endpoints.js';
import { auditEndpoints } from './http/x/audit-endpoints.js';
import { explainEndpoints } from './http/x/explain-endpoints.js';
import { tokenEndpoints } from './http/x/token-endpoints.js';
import { observeHub } from './metrics/gauges.js';
import { type HubMetrics, hubMetrics, METRICS_TYPE } from './metrics/hub-metrics.js';
import { measuredFiles } from './metrics/measured-files.js';
import { agentSecrets } from './security/agent-secrets.js';
import { agentToken } from './security/agent-token.js';
import { scryptPasswords } from './security/passwords.js';
import { storageKey } from './security/storage-key.js';
import { openTlsFiles, type TlsFiles } from './security/tls-files.js';
import { openAccountsDatabase } from './store/sqlite/accounts/accounts-database.js';
import { sqliteAgentCredentials } from './store/sqlite/accounts/agent-credentials.js';
import { openSqliteStore, type Store } from './store/sqlite/store.js';
import { serverInfo } from './system/server-info.js';

/** What a test replaces. */
export interface HubOverrides {
  readonly runtime?: Runtime;
  /** Hashes that take no time. */
  readonly passwords?: Passwords;
}

export interface Hub extends Service {
  /** Where it listens, once it has started: `http://127.0.0.1:8080`. */
  readonly address: string;
}

/** What the hub works on, open. */
interface Opened {
  readonly store: Store;
  readonly accounts: Accounts;
  readonly credentials: AgentCredentials;
  readonly tls: TlsFiles | null;
  readonly metrics: HubMetrics;
  readonly tracing: Tracing;
}

/** Requests under way may go on for so long when the hub stops. */
const STOP_GRACE_MS = 5000;

/** A side sends a heartbeat six times within the time after which silence counts as death, and so often in any case that
 *  no proxy on the way takes the connection for idle: 60 s is what many allow. */
const HEARTBEATS_PER_SILENCE = 6;
const LONGEST_HEARTBEAT_INTERVAL_MS = 20_000;

export function createHub(
  config: HubConfig,
  log: Logger,
  { runtime = systemRuntime, passwords = scryptPasswords() }: HubOverrides = {},
): Hub {
  let stop: (() => Promise<void>) | undefined;
  let address = '';

  const start = async (): Promise<void> => {
    await mkdir(config.dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const open = await openToOthers(config.dataDir);
    if (open.length > 0) {
      const { message, advice } = openToOthersText(config.dataDir, open);
      log.warn(`${message}: ${advice}`);
    }
    await refuseHalfRestored(config.dataDir);
    const joinToken = config.agents.enrolledOnly
      ? null
      : await agentToken(config.agents.token, config.dataDir);
    const tls = config.server.tls && (await openTlsFiles(config.server.tls));
    const metrics = hubMetrics(buildInfo);
    const store = openSqliteStore(tasksFileOf(config), runtime.timers, log, {
      clock: runtime.clock,
      metrics: metrics.store,
    });
    const undo: (() => unknown)[] = [() => store.close()];
    try {
      await store.syncLeftOver();
      const db = openAccountsDatabase(accountsFileOf(config));
      undo.push(() => db.close());
      const credentials = new AgentCredentials({
        store: sqliteAgentCredentials(db),
        secrets: agentSecrets,
        clock: runtime.clock,
        joinToken,
      });
      const accounts = await openAccounts({
        config,
        kept: db,
        passwords,
        runtime,
        log,
        metrics: metrics.logins,
      });
      undo.push(accounts.close);
      const tracing = await openTracing(undo);
      await startOn({ store, accounts, credentials, tls, metrics, tracing }, undo);
    } catch (error) {
      for (const release of undo.reverse()) await release();
      throw error;
    }
  };

  /** Starts everything over the open store; `undo` gets what a failure further on has to release, in order. */
  const startOn = async (
    { store, accounts, credentials, tls, metrics, tracing }: Opened,
    undo: (() => unknown)[],
  ): Promise<void> => {
    const contents = await openBlobStore({
      folder: join(config.dataDir, 'files'),
      small: store.inlineBlobs,
      runtime,
      log,
      encryptionKey: await storageKey(config.storage.encryptionKey, config.dataDir),
      isPostponed: () => isBackupLinking(config.dataDir, runtime.clock),
    });
    const files = measuredFiles(contents, metrics.files);
    const silenceLimitMs = config.agents.unreachableAfter;
    const heartbeatIntervalMs = Math.min(
      Math.ceil(silenceLimitMs / HEARTBEATS_PER_SILENCE),
      LONGEST_HEARTBEAT_INTERVAL_MS,
    );
    const engine = await createEngine({
      queue: store.queue,
      archive: store.archive,
      agentStore: store.agents,
      files,
      names: store.namedObjects,
      storage: storageSettingsOf(config),
      runtime,
      log,
      leaseTimeoutMs: config.agents.leaseTimeout,
      forgetAgentsAfterMs: config.agents.forgetAfter,
      limits: config.tasks,
      keepEndedForMs: config.tasks.keepEndedFor,
      defaultVersion: config.tasks.defaultVersion,
      sweepAccounts: accounts.sweep,
      metrics: metrics.tasks,
      tracing,
    });
    observeHub(metrics, {
      archive: store.archive,
      instances: engine.instances,
      isLocked: () => engine.shutdown.status.initiated,
      disk: () => diskSpace(config.dataDir),
      databases: {
        tasks: withLog(tasksFileOf(config)),
        accounts: withLog(accountsFileOf(config)),
      },
    });

    const audit = config.security.enabled ? await openAudit() : null;
    undo.push(() => audit?.close());

    let ready = false;
    const installation = fileURLToPath(new URL('..', import.meta.url));
    const limits = { maxFileBytes: config.limits.fileSize, maxFiles: config.limits.filesPerTask };
    const requests = taskRequests({ tasks: engine.tasks, files, storage: engine.storage, limits, log });
    const cookie = refreshCookie({
      lifetimeMs: config.security.refreshTokenLifetime,
      publicUrl: config.server.publicUrl,
    });
    const endpoints = [
      ...actuatorEndpoints({
        instances: engine.instances,
        diskSpace: () => diskSpace(config.health.diskSpacePath ?? installation),
        thresholdBytes: config.health.diskSpaceThreshold,
        downStatus: config.health.downStatus,
        build: buildInfo,
        isReady: () => ready,
      }),
      logfileEndpoint(logFileOf(config)),
      prometheusEndpoint({ contentType: METRICS_TYPE, text: metrics.text }),
      ...authEndpoints(accounts.sessions, cookie),
      ...authEndpointsV1(accounts.sessions),
      ...tokenEndpoints(accounts.personalTokens),
      ...taskEndpoints(engine.tasks, requests, log),
      ...nodeEndpoints(engine.instances),
      ...instanceControlEndpoints(engine.control),
      ...adminEndpoints(
        async () => serverInfo(buildInfo, runtime.clock, await diskSpace(installation)),
        engine.shutdown,
      ),
      ...storageEndpoints(engine.storage, log),
      ...explainEndpoints(engine.tasks, engine.explanations),
      ...auditEndpoints(auditReader(auditFolderOf(config.dataDir))),
      ...(['1.1', '1.0'] as const).flatMap((generation) => [
        ...taskEndpointsV1(generation, engine.tasks, requests),
        ...nodeEndpointsV1(generation, engine.instances, engine.control),
      ]),
    ];
    const proxies = trustedProxies(config.server.trustedProxies);
    const authenticator = new AgentAuthenticator({
      credentials,
      wantsCertificate: tls?.content.ca !== undefined,
      addressOf: (request) => new Client(request, proxies).address || null,
      audit: audit?.trail ?? null,
      clock: runtime.clock,
      log,
    });
    const { sentBlobs } = engine;
    const app = createApp({
      endpoints,
      agents: { files, sentBlobs, credentials, guard: authenticator, timers: runtime.timers },
      openApiDocument: () => openApiDocument(endpoints, buildInfo),
      readBody: bodyReader({ maxBytes: config.limits.requestBody, files, limits }),
      admission: new Admission(config.limits),
      loopbackOnly: !config.security.enabled && !config.security.allowInsecure,
      guard: accounts.guard,
      origins: { publicUrl: config.server.publicUrl, allowed: new Set(config.security.corsOrigins) },
      audit: audit?.trail ?? null,
      metrics: metrics.requests,
      tracing,
      trustedProxies: proxies,
      hold: () => files.hold(),
      runtime,
      log,
    });
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
      fetch: app.fetch,
    });
    serveAgents(web.server, {
      agents: engine.agents,
      authenticator,
      credentials,
      refuse: upgradeRefuser(runtime.clock),
      runtime,
      log,
      hubVersion: buildInfo.version,
      heartbeatIntervalMs,
      silenceLimitMs,
    });

    const stopEngine = async () => {
      const closed = web.close(STOP_GRACE_MS);
      await engine.quiesce();
      await closed;
      await engine.stop();
    };
    address = await web.listen();
    undo.push(stopEngine);
    await engine.start();
    const unwatch = tls?.watch((renewed) => web.renew(renewed), runtime.timers, log);
    ready = true;
    stop = async () => {
      ready = false;
      unwatch?.();
      for (const release of undo.reverse()) await release();
    };
    log.info({ address, dataDir: config.dataDir, ...buildInfo }, 'the hub listens');
  };

  const openTracing = async (undo: (() => unknown)[]): Promise<Tracing> => {
    const { endpoint } = config.tracing;
    if (endpoint === null) return NO_TRACING;
    // What it is made of takes time and memory that a hub without traces keeps.
    const { hubTracing } = await import('./tracing/hub-tracing.js');
    const { version } = buildInfo;
    const tracing = hubTracing({ config: { ...config.tracing, endpoint }, version, runtime, log });
    undo.push(() => tracing.close());
    return tracing;
  };

  const openAudit = async () => {
    const { maxFileSize, keepFiles } = config.audit;
    const folder = auditFolderOf(config.dataDir);
    const auditLog = await openAuditLog({ folder, maxFileBytes: maxFileSize, keepFiles, runtime, log });
    const trail = rateLimitedAudit(auditLog, runtime);
    return {
      trail,
      close: () => {
        trail.flush();
        return auditLog.close();
      },
    };
  };

  return {
    name: 'hub',
    start,
    stop: async () => stop?.(),
    get address() {
      return address;
    },
  };
}

/** The files of a SQLite database. */
function withLog(file: string): string[] {
  return [file, `${file}-wal`];
}

function storageSettingsOf({ storage: { input, output } }: HubConfig): StorageSettings {
  return {
    input: {
      enabled: input.enabled,
      expireAfterMs: input.expireAfter,
      maxFileBytes: input.maxFileSize,
      quotaPerUserBytes: input.quotaPerUser,
    },
    output: { enabled: output.enabled, expireAfterMs: output.expireAfter },
  };
}
