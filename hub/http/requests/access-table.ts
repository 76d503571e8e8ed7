/**
 * Role that each endpoint requires (contract 8.7): none (OPEN), or this role or a greater one; METRICS is ADMIN, or a personal
 * token for the metrics. Endpoints that are not in this
 * table cannot be served. USER may cancel and delete only its own tasks (`refuseForeignTask`).
 */
import type { Role } from '../../core/access.js';

export type Access = 'OPEN' | 'METRICS' | Role;

const TABLE: Readonly<Record<string, Access>> = {
  'GET /livez': 'OPEN',
  'GET /readyz': 'OPEN',
  'GET /actuator/health': 'OPEN',
  'GET /actuator/info': 'OPEN',
  'GET /actuator/logfile': 'ADMIN',
  'GET /actuator/prometheus': 'METRICS',

  'POST /api/2.0/auth/login': 'OPEN',
  'GET /api/2.0/auth/refresh': 'OPEN',
  'GET /api/2.0/auth/logout': 'OPEN',
  'GET /api/2.0/user': 'VIEWER',

  'POST /api/2.0/workbench/task/simulate-work/create': 'USER',
  'GET /api/2.0/workbench/task/simulate-work/{id}/result': 'VIEWER',
  'POST /api/2.0/workbench/task/execute-batch-job/create': 'USER',
  'GET /api/2.0/workbench/task/execute-batch-job/{id}/result': 'VIEWER',
  'GET /api/2.0/workbench/task/list': 'VIEWER',
  'GET /api/2.0/workbench/task/{id}': 'VIEWER',
  'GET /api/2.0/workbench/task/{id}/log': 'VIEWER',
  'DELETE /api/2.0/workbench/task/{id}/cancel': 'USER',
  'DELETE /api/2.0/workbench/task/{id}/delete': 'USER',

  'GET /api/2.0/workbench/node/instance/list': 'VIEWER',
  'GET /api/2.0/workbench/node/instance/{id}': 'VIEWER',
  'GET /api/2.0/workbench/node/instance/{id}/log/{type}': 'VIEWER',
  'PATCH /api/2.0/workbench/node/instance/{id}/start': 'ADMIN',
  'PATCH /api/2.0/workbench/node/instance/{id}/restart': 'ADMIN',
  'PATCH /api/2.0/workbench/node/instance/{id}/stop': 'ADMIN',
  'GET /api/2.0/workbench/node/agent/list': 'VIEWER',
  'GET /api/2.0/workbench/node/agent/{id}': 'VIEWER',

  'GET /api/2.1/storage/input/status': 'VIEWER',
  'POST /api/2.0/storage/input/upload': 'USER',
  // Renewing requires USER, which the endpoint checks.
  'GET /api/2.0/storage/input/{name}': 'VIEWER',
  'DELETE /api/2.0/storage/input/{name}/delete': 'USER',
  'GET /api/2.0/storage/output/{name}/download': 'VIEWER',

  'GET /api/2.0/monitoring/server-info': 'ADMIN',
  'GET /api/2.0/admin/prepare-shutdown': 'VIEWER',
  'POST /api/2.0/admin/prepare-shutdown/change': 'ADMIN',

  'GET /api/x/sign-on': 'OPEN',
  // Each of them proves itself by a cookie.
  'POST /api/x/sign-on/begin': 'OPEN',
  'POST /api/x/sign-on/finish': 'OPEN',
  'POST /api/x/sign-on/refresh': 'OPEN',
  'POST /api/x/sign-on/end': 'OPEN',
  'GET /api/x/caller': 'VIEWER',
  'GET /api/x/hubs': 'VIEWER',
  'GET /api/x/upstreams': 'VIEWER',
  'GET /api/x/hosts': 'VIEWER',
  'GET /api/x/hosts/hours': 'VIEWER',
  'GET /api/x/events': 'VIEWER',
  'GET /api/x/statistics': 'VIEWER',
  'GET /api/x/studies': 'VIEWER',
  'POST /api/x/studies': 'USER',
  'GET /api/x/studies/{id}': 'VIEWER',
  'DELETE /api/x/studies/{id}': 'USER',
  'GET /api/x/studies/{id}/events': 'VIEWER',
  'GET /api/x/studies/{id}/points': 'VIEWER',
  'POST /api/x/studies/{id}/points': 'USER',
  'POST /api/x/studies/{id}/pause': 'USER',
  'POST /api/x/studies/{id}/resume': 'USER',
  'POST /api/x/studies/{id}/stop': 'USER',
  'POST /api/x/studies/{id}/retry': 'USER',
  'GET /api/x/invalidations': 'VIEWER',
  'POST /api/x/invalidations': 'USER',
  'DELETE /api/x/invalidations/{id}': 'USER',
  'GET /api/x/tasks': 'VIEWER',
  'POST /api/x/tasks': 'USER',
  // The role USER changes its own tasks only.
  'POST /api/x/tasks/form': 'USER',
  'POST /api/x/tasks/cancel': 'USER',
  'POST /api/x/tasks/delete': 'USER',
  'GET /api/x/tasks/{id}': 'VIEWER',
  'GET /api/x/tasks/{id}/inputs': 'VIEWER',
  'GET /api/x/tasks/{id}/inputs/{path}': 'VIEWER',
  'GET /api/x/tasks/{id}/log': 'VIEWER',
  'GET /api/x/tasks/{id}/outputs': 'VIEWER',
  'GET /api/x/tasks/{id}/outputs/{path}': 'VIEWER',
  'GET /api/x/tasks/{id}/archive': 'VIEWER',
  'GET /api/x/tasks/{id}/manifest': 'VIEWER',
  'GET /api/x/manifest-keys': 'VIEWER',
  'GET /api/x/tasks/{id}/explain': 'VIEWER',
  'POST /api/x/explain': 'VIEWER',
  'GET /api/x/audit': 'ADMIN',

  'GET /api/x/instances/{id}/crashes': 'VIEWER',
  'GET /api/x/agents': 'VIEWER',
  'GET /api/x/agents/{id}': 'VIEWER',
  'POST /api/x/agents/{id}/drain': 'ADMIN',
  'POST /api/x/agents/{id}/undrain': 'ADMIN',
  'GET /api/x/agents/{id}/update': 'ADMIN',
  'POST /api/x/agents/{id}/update': 'ADMIN',
  'GET /api/x/rollout': 'ADMIN',
  'POST /api/x/rollout/stop': 'ADMIN',
  'POST /api/x/rollout/resume': 'ADMIN',
  'POST /api/x/hosts/{name}/pause': 'ADMIN',
  'POST /api/x/hosts/{name}/resume': 'ADMIN',
  'POST /api/x/hosts/{name}/drain': 'ADMIN',

  'POST /api/x/agents': 'ADMIN',
  'POST /api/x/agents/{id}/revoke': 'ADMIN',

  'GET /api/x/storage/input': 'VIEWER',
  'GET /api/x/storage/output': 'VIEWER',
  'GET /api/x/storage/inputs/{name}': 'VIEWER',
  'GET /api/x/storage/inputs/{name}/tasks': 'VIEWER',
  // Each user has its own uploads only.
  'OPTIONS /api/x/storage/input/uploads': 'VIEWER',
  'POST /api/x/storage/input/uploads': 'USER',
  'GET /api/x/storage/input/uploads': 'USER',
  'GET /api/x/storage/input/uploads/{id}': 'USER',
  'PATCH /api/x/storage/input/uploads/{id}': 'USER',
  'DELETE /api/x/storage/input/uploads/{id}': 'USER',

  'POST /api/x/tokens': 'VIEWER',
  'GET /api/x/tokens': 'VIEWER',
  'DELETE /api/x/tokens/{id}': 'VIEWER',

  'GET /api/x/users': 'ADMIN',
  'POST /api/x/users': 'ADMIN',
  'PATCH /api/x/users/{name}': 'ADMIN',
  'POST /api/x/users/{name}/password': 'ADMIN',
  'DELETE /api/x/users/{name}/sessions': 'ADMIN',

  'POST /api/1.0/auth/login': 'OPEN',
  ...ofVersion('1.0'),
  'DELETE /api/1.0/workbench/task/{id}/cancel': 'USER',
  'PATCH /api/1.0/workbench/node/instance/{id}/start': 'ADMIN',
  'PATCH /api/1.0/workbench/node/instance/{id}/stop': 'ADMIN',

  ...ofVersion('1.1'),
};

/** Whether an endpoint is served under any load: those that show the state of the hub, and those of administrators. */
export function isAlwaysServed(path: string, access: Access): boolean {
  return access === 'ADMIN' || /^\/(livez|readyz|actuator\/|api\/2\.0\/admin\/)/.test(path);
}

/** Endpoints of both 1.0 and 1.1. */
function ofVersion(version: '1.0' | '1.1'): Record<string, Access> {
  const base = `/api/${version}/workbench`;
  return {
    [`POST ${base}/task/simulate-work/create`]: 'USER',
    [`GET ${base}/task/simulate-work/{id}/result`]: 'VIEWER',
    [`POST ${base}/task/execute-batch-job/create`]: 'USER',
    [`GET ${base}/task/execute-batch-job/{id}/result`]: 'VIEWER',
    [`GET ${base}/task/list`]: 'VIEWER',
    [`GET ${base}/task/list/running`]: 'VIEWER',
    [`GET ${base}/task/list/waiting`]: 'VIEWER',
    [`GET ${base}/task/{id}`]: 'VIEWER',
    [`GET ${base}/node/instance/list`]: 'VIEWER',
    [`GET ${base}/node/instance/{id}`]: 'VIEWER',
    [`GET ${base}/node/server/list`]: 'VIEWER',
    [`GET ${base}/node/server/{id}`]: 'VIEWER',
  };
}

/** Throws for an endpoint that is not in the table: a hub with such a defect does not start. */
export function accessTo(method: string, path: string): Access {
  const access = Object.hasOwn(TABLE, `${method} ${path}`) ? TABLE[`${method} ${path}`] : undefined;
  if (!access) throw new Error(`${method} ${path} is not in the access table`);
  return access;
}
