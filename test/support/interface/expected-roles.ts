/** Roles of the endpoints (contract 8.7), written independently of the hub's own table, which is checked against this one.
 *  OPEN means everybody, without a token. */

export type ExpectedAccess = 'OPEN' | 'VIEWER' | 'USER' | 'ADMIN';

export interface ExpectedRole {
  readonly method: string;
  readonly path: string;
  readonly access: ExpectedAccess;
}

export const EXPECTED_ROLES: readonly ExpectedRole[] = parse(`
  OPEN    GET    /livez
  OPEN    GET    /readyz
  OPEN    GET    /openapi.json
  OPEN    GET    /actuator/health
  OPEN    GET    /actuator/info
  ADMIN   GET    /actuator/logfile
  ADMIN   GET    /actuator/prometheus
  OPEN    GET    /api/x/sign-on
  OPEN    POST   /api/x/sign-on/begin
  OPEN    POST   /api/x/sign-on/finish
  OPEN    POST   /api/x/sign-on/refresh
  OPEN    POST   /api/x/sign-on/end
  OPEN    POST   /api/2.0/auth/login
  OPEN    GET    /api/2.0/auth/refresh
  OPEN    GET    /api/2.0/auth/logout
  VIEWER  GET    /api/2.0/user
  USER    POST   /api/2.0/workbench/task/simulate-work/create
  VIEWER  GET    /api/2.0/workbench/task/simulate-work/{id}/result
  USER    POST   /api/2.0/workbench/task/execute-batch-job/create
  VIEWER  GET    /api/2.0/workbench/task/execute-batch-job/{id}/result
  VIEWER  GET    /api/2.0/workbench/task/list
  VIEWER  GET    /api/2.0/workbench/task/{id}
  VIEWER  GET    /api/2.0/workbench/task/{id}/log
  USER    DELETE /api/2.0/workbench/task/{id}/cancel
  USER    DELETE /api/2.0/workbench/task/{id}/delete
  VIEWER  GET    /api/2.0/workbench/node/instance/list
  VIEWER  GET    /api/2.0/workbench/node/instance/{id}
  VIEWER  GET    /api/2.0/workbench/node/instance/{id}/log/{type}
  ADMIN   PATCH  /api/2.0/workbench/node/instance/{id}/start
  ADMIN   PATCH  /api/2.0/workbench/node/instance/{id}/restart
  ADMIN   PATCH  /api/2.0/workbench/node/instance/{id}/stop
  VIEWER  GET    /api/2.0/workbench/node/agent/list
  VIEWER  GET    /api/2.0/workbench/node/agent/{id}
  ADMIN   GET    /api/2.0/monitoring/server-info
  VIEWER  GET    /api/2.0/admin/prepare-shutdown
  ADMIN   POST   /api/2.0/admin/prepare-shutdown/change

  VIEWER  GET    /api/2.1/storage/input/status
  USER    POST   /api/2.0/storage/input/upload
  VIEWER  GET    /api/2.0/storage/input/{name}
  USER    DELETE /api/2.0/storage/input/{name}/delete
  VIEWER  GET    /api/2.0/storage/output/{name}/download

  OPEN    POST   /api/1.0/auth/login
  USER    POST   /api/1.0/workbench/task/simulate-work/create
  VIEWER  GET    /api/1.0/workbench/task/simulate-work/{id}/result
  USER    POST   /api/1.0/workbench/task/execute-batch-job/create
  VIEWER  GET    /api/1.0/workbench/task/execute-batch-job/{id}/result
  VIEWER  GET    /api/1.0/workbench/task/list
  VIEWER  GET    /api/1.0/workbench/task/list/running
  VIEWER  GET    /api/1.0/workbench/task/list/waiting
  VIEWER  GET    /api/1.0/workbench/task/{id}
  USER    DELETE /api/1.0/workbench/task/{id}/cancel
  VIEWER  GET    /api/1.0/workbench/node/instance/list
  VIEWER  GET    /api/1.0/workbench/node/instance/{id}
  ADMIN   PATCH  /api/1.0/workbench/node/instance/{id}/start
  ADMIN   PATCH  /api/1.0/workbench/node/instance/{id}/stop
  VIEWER  GET    /api/1.0/workbench/node/server/list
  VIEWER  GET    /api/1.0/workbench/node/server/{id}

  USER    POST   /api/1.1/workbench/task/simulate-work/create
  VIEWER  GET    /api/1.1/workbench/task/simulate-work/{id}/result
  USER    POST   /api/1.1/workbench/task/execute-batch-job/create
  VIEWER  GET    /api/1.1/workbench/task/execute-batch-job/{id}/result
  VIEWER  GET    /api/1.1/workbench/task/list
  VIEWER  GET    /api/1.1/workbench/task/list/running
  VIEWER  GET    /api/1.1/workbench/task/list/waiting
  VIEWER  GET    /api/1.1/workbench/task/{id}
  VIEWER  GET    /api/1.1/workbench/node/instance/list
  VIEWER  GET    /api/1.1/workbench/node/instance/{id}
  VIEWER  GET    /api/1.1/workbench/node/server/list
  VIEWER  GET    /api/1.1/workbench/node/server/{id}

  VIEWER  GET    /api/x/caller
  VIEWER  GET    /api/x/hubs
  VIEWER  GET    /api/x/upstreams
  VIEWER  GET    /api/x/hosts
  VIEWER  GET    /api/x/hosts/hours
  VIEWER  GET    /api/x/events
  VIEWER  GET    /api/x/statistics
  VIEWER  GET    /api/x/studies
  USER    POST   /api/x/studies
  VIEWER  GET    /api/x/studies/{id}
  USER    DELETE /api/x/studies/{id}
  VIEWER  GET    /api/x/studies/{id}/events
  VIEWER  GET    /api/x/studies/{id}/points
  USER    POST   /api/x/studies/{id}/points
  USER    POST   /api/x/studies/{id}/pause
  USER    POST   /api/x/studies/{id}/resume
  USER    POST   /api/x/studies/{id}/stop
  USER    POST   /api/x/studies/{id}/retry
  VIEWER  GET    /api/x/invalidations
  USER    POST   /api/x/invalidations
  USER    DELETE /api/x/invalidations/{id}
  VIEWER  GET    /api/x/tasks
  USER    POST   /api/x/tasks
  USER    POST   /api/x/tasks/form
  USER    POST   /api/x/tasks/cancel
  USER    POST   /api/x/tasks/delete
  VIEWER  GET    /api/x/tasks/{id}
  VIEWER  GET    /api/x/tasks/{id}/inputs
  VIEWER  GET    /api/x/tasks/{id}/inputs/{path}
  VIEWER  GET    /api/x/tasks/{id}/log
  VIEWER  GET    /api/x/tasks/{id}/outputs
  VIEWER  GET    /api/x/tasks/{id}/outputs/{path}
  VIEWER  GET    /api/x/tasks/{id}/archive
  VIEWER  GET    /api/x/tasks/{id}/manifest
  VIEWER  GET    /api/x/manifest-keys
  VIEWER  GET    /api/x/tasks/{id}/explain
  VIEWER  POST   /api/x/explain
  ADMIN   GET    /api/x/audit
  VIEWER  GET    /api/x/instances/{id}/crashes
  VIEWER  GET    /api/x/agents
  VIEWER  GET    /api/x/agents/{id}
  ADMIN   POST   /api/x/agents/{id}/drain
  ADMIN   POST   /api/x/agents/{id}/undrain
  ADMIN   GET    /api/x/agents/{id}/update
  ADMIN   POST   /api/x/agents/{id}/update
  ADMIN   GET    /api/x/rollout
  ADMIN   POST   /api/x/rollout/stop
  ADMIN   POST   /api/x/rollout/resume
  ADMIN   POST   /api/x/hosts/{name}/pause
  ADMIN   POST   /api/x/hosts/{name}/resume
  ADMIN   POST   /api/x/hosts/{name}/drain
  ADMIN   POST   /api/x/agents
  ADMIN   POST   /api/x/agents/{id}/revoke
  VIEWER  GET    /api/x/storage/input
  VIEWER  GET    /api/x/storage/output
  VIEWER  GET    /api/x/storage/inputs/{name}
  VIEWER  GET    /api/x/storage/inputs/{name}/tasks
  VIEWER  OPTIONS /api/x/storage/input/uploads
  USER    POST   /api/x/storage/input/uploads
  USER    GET    /api/x/storage/input/uploads
  USER    GET    /api/x/storage/input/uploads/{id}
  USER    PATCH  /api/x/storage/input/uploads/{id}
  USER    DELETE /api/x/storage/input/uploads/{id}
  VIEWER  GET    /api/x/tokens
  VIEWER  POST   /api/x/tokens
  VIEWER  DELETE /api/x/tokens/{id}
  ADMIN   GET    /api/x/users
  ADMIN   POST   /api/x/users
  ADMIN   PATCH  /api/x/users/{name}
  ADMIN   POST   /api/x/users/{name}/password
  ADMIN   DELETE /api/x/users/{name}/sessions
`);

function parse(table: string): ExpectedRole[] {
  return table
    .trim()
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [access = '', method = '', path = ''] = line.trim().split(/ +/);
      return { method, path, access: access as ExpectedAccess };
    });
}
