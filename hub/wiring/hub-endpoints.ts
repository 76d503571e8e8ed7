/** All endpoints of the interface to clients. */
import { fileURLToPath } from 'node:url';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Task } from '../core/task.js';
import { diskSpace } from '../files/disk-space.js';
import { DiskWatch } from '../files/disk-watch.js';
import { actuatorEndpoints } from '../http/endpoints/actuator/actuator-endpoints.js';
import { logfileEndpoint } from '../http/endpoints/actuator/logfile-endpoint.js';
import { prometheusEndpoint } from '../http/endpoints/actuator/prometheus-endpoint.js';
import { taskRequests } from '../http/endpoints/common/task-requests.js';
import { authEndpointsV1 } from '../http/endpoints/v1/auth-endpoints.js';
import { nodeEndpointsV1 } from '../http/endpoints/v1/node-endpoints.js';
import { taskEndpointsV1 } from '../http/endpoints/v1/task-endpoints.js';
import { adminEndpoints } from '../http/endpoints/v2/admin-endpoints.js';
import { authEndpoints } from '../http/endpoints/v2/auth-endpoints.js';
import { instanceControlEndpoints } from '../http/endpoints/v2/instance-control-endpoints.js';
import { nodeEndpoints } from '../http/endpoints/v2/node-endpoints.js';
import { storageEndpoints } from '../http/endpoints/v2/storage-endpoints.js';
import { taskEndpoints } from '../http/endpoints/v2/task-endpoints.js';
import { agentEndpoints } from '../http/endpoints/x/agent-endpoints.js';
import { auditEndpoints } from '../http/endpoints/x/audit-endpoints.js';
import { browserSignOnEndpoints } from '../http/endpoints/x/browser-sign-on-endpoints.js';
import { bulkEndpoints } from '../http/endpoints/x/bulk-endpoints.js';
import { callerEndpoint } from '../http/endpoints/x/caller-endpoint.js';
import { enrollmentEndpoints } from '../http/endpoints/x/enrollment-endpoints.js';
import { eventEndpoints } from '../http/endpoints/x/event-endpoints.js';
import { explainEndpoints } from '../http/endpoints/x/explain-endpoints.js';
import { hostEndpoints } from '../http/endpoints/x/host-endpoints.js';
import { hubListEndpoint } from '../http/endpoints/x/hub-list-endpoint.js';
import { instanceCrashesEndpoint } from '../http/endpoints/x/instance-crashes-endpoint.js';
import { logFollowEndpoint } from '../http/endpoints/x/log-follow-endpoint.js';
import { manifestEndpoints } from '../http/endpoints/x/manifest-endpoints.js';
import { presentTaskItem } from '../http/endpoints/x/present-task.js';
import { rolloutEndpoints } from '../http/endpoints/x/rollout-endpoints.js';
import { signOnEndpoint } from '../http/endpoints/x/sign-on-endpoint.js';
import { statisticsEndpoint } from '../http/endpoints/x/statistics-endpoints.js';
import { storageListEndpoints } from '../http/endpoints/x/storage-list-endpoints.js';
import { storedInputEndpoints } from '../http/endpoints/x/stored-input-endpoints.js';
import { invalidationEndpoints } from '../http/endpoints/x/studies/invalidation-endpoints.js';
import { studyEndpoints } from '../http/endpoints/x/studies/study-endpoints.js';
import { studyEventsEndpoint } from '../http/endpoints/x/studies/study-events-endpoint.js';
import { taskCreationEndpoint } from '../http/endpoints/x/task-creation-endpoint.js';
import { taskDetailEndpoints } from '../http/endpoints/x/task-detail-endpoints.js';
import { TaskEventStreams } from '../http/endpoints/x/task-event-streams.js';
import { taskFormEndpoint } from '../http/endpoints/x/task-form-endpoint.js';
import { taskListEndpoint } from '../http/endpoints/x/task-list-endpoint.js';
import { tokenEndpoints } from '../http/endpoints/x/token-endpoints.js';
import { uploadEndpoints } from '../http/endpoints/x/upload-endpoints.js';
import { upstreamListEndpoint } from '../http/endpoints/x/upstream-list-endpoint.js';
import { userEndpoints } from '../http/endpoints/x/user-endpoints.js';
import { refreshCookie } from '../http/wire/refresh-cookie.js';
import { METRICS_TYPE } from '../metrics/hub-metrics.js';
import { serverInfo } from '../system/server-info.js';
import type { HubParts } from './hub-parts.js';
import { signOnWays } from './oidc-sign-on.js';

/** Folder in which the hub is installed. */
const INSTALLATION = fileURLToPath(new URL('../..', import.meta.url));

export function hubEndpoints(parts: HubParts, isReady: () => boolean) {
  const { config, accounts, engine, files, runtime, log } = parts;
  const { security, server, limits } = config;
  const requests = taskRequests({
    tasks: engine.tasks,
    files,
    storage: engine.storage,
    limits: { maxFileBytes: limits.fileSize, maxFiles: limits.filesPerTask },
    log,
  });
  const cookie = refreshCookie({ lifetimeMs: security.refreshTokenLifetime, publicUrl: server.publicUrl });
  return [
    ...monitoringEndpoints(parts, isReady),
    ...authEndpoints(accounts.sessions, cookie),
    ...authEndpointsV1(accounts.sessions),
    callerEndpoint(),
    ...tokenEndpoints(accounts.personalTokens),
    ...userEndpoints(accounts.userAdministration),
    signOnEndpoint(signOnWays(config)),
    ...browserSignOnEndpoints(accounts.browserSignOn, {
      lifetimeMs: security.refreshTokenLifetime,
      publicUrl: server.publicUrl,
    }),
    ...taskEndpoints(engine.tasks, requests, log),
    ...nodeEndpoints(engine.nodes),
    ...instanceControlEndpoints(engine.control),
    instanceCrashesEndpoint(engine.control, runtime.clock),
    ...adminEndpoints({
      serverInfo: async () => serverInfo(buildInfo, runtime.clock, await diskSpace(INSTALLATION)),
      shutdown: engine.shutdown,
      hubs: parts.hubs,
      publicUrl: server.publicUrl,
    }),
    hubListEndpoint(parts.hubs),
    upstreamListEndpoint(engine.upstreams),
    ...hostEndpoints(engine.recipeViews),
    ...storageEndpoints(engine.storage, log),
    ...endpointsAboutAgents(parts),
    ...explainEndpoints(engine.tasks, engine.explanations),
    taskFormEndpoint({
      requests,
      files,
      limits: { maxFileBytes: limits.fileSize, maxFiles: limits.filesPerTask },
      maxBytes: limits.requestBody,
      waitReason: (task) => engine.tasks.waitReason(task),
    }),
    ...followedTaskEndpoints(parts),
    taskCreationEndpoint(requests, (task) => engine.tasks.waitReason(task)),
    ...studyEndpoints({
      studies: engine.studies,
      tasks: engine.tasks,
      jobFiles: {
        files,
        storage: engine.storage,
        limits: { maxFileBytes: limits.fileSize, maxFiles: limits.filesPerTask },
      },
    }),
    studyEventsEndpoint({
      studies: engine.studies,
      studyFollower: engine.studyFollower,
      ...{ clock: runtime.clock, timers: runtime.timers, log },
    }),
    ...invalidationEndpoints(engine.invalidations),
    ...storageListEndpoints(engine.storage),
    ...storedInputEndpoints(engine.storage, engine.tasks, log),
    ...uploadEndpoints(engine.uploads),
    statisticsEndpoint(engine.statistics, runtime.clock),
    ...auditEndpoints(parts.auditReader),
    ...(['1.1', '1.0'] as const).flatMap((generation) => [
      ...taskEndpointsV1(generation, engine.tasks, requests),
      ...nodeEndpointsV1(generation, engine.nodes, engine.control, server.publicUrl ?? ''),
    ]),
  ];
}

function endpointsAboutAgents({ config, credentials, engine, runtime }: HubParts) {
  const { nodes, drains, updates, rolloutViews } = engine;
  return [
    ...agentEndpoints({ nodes, drains, updates, rolloutViews, credentials, clock: runtime.clock }),
    ...rolloutEndpoints(rolloutViews),
    ...enrollmentEndpoints({ credentials, nodes, enrolledOnly: config.agents.enrolledOnly }),
  ];
}

function followedTaskEndpoints({ engine, manifests, runtime, log }: HubParts) {
  const { tasks, details, changeFeed: feed, logFollower } = engine;
  const { clock, timers } = runtime;
  const present = (task: Task) => presentTaskItem(task, tasks.waitReason(task));
  return [
    taskListEndpoint(tasks, feed),
    ...bulkEndpoints(engine.bulkChanges, tasks),
    ...taskDetailEndpoints({ tasks, details, log }),
    ...manifestEndpoints(manifests),
    logFollowEndpoint({ tasks, logFollower, clock, timers, log }),
    ...eventEndpoints(feed, new TaskEventStreams({ feed, present, timers, clock })),
  ];
}

function monitoringEndpoints(
  { config, engine, metrics, logFile, isDatabaseReachable, isObjectStoreUsable, runtime, log }: HubParts,
  isReady: () => boolean,
) {
  const path = config.health.diskSpacePath ?? INSTALLATION;
  const disk = new DiskWatch({ path, timers: runtime.timers, log });
  return [
    ...actuatorEndpoints({
      nodes: engine.nodes,
      diskSpace: () => disk.space(),
      thresholdBytes: config.health.diskSpaceThreshold,
      downStatus: config.health.downStatus,
      build: buildInfo,
      isDatabaseReachable,
      isObjectStoreUsable,
      isReady,
    }),
    logfileEndpoint(logFile),
    prometheusEndpoint({ contentType: METRICS_TYPE, text: metrics.text }),
  ];
}
