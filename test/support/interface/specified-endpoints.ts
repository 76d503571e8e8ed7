/** The endpoint tables of the contract (1.0 and 1.1: contract 11.2 and 11.3), written independently of the hub, whose
 *  document is checked against them. */

export interface SpecifiedEndpoint {
  readonly method: string;
  readonly path: string;
  /** The success and the statuses of this endpoint; 400, 401, 403 and 500 apply to all. */
  readonly statuses: readonly number[];
}

/** The statuses that every endpoint can respond with (contract 10.2). */
export const ANY_ENDPOINT = [400, 401, 403, 500];

export const SPECIFIED_2X = parse(`
  GET    /actuator/health                                          200
  GET    /actuator/info                                            200
  GET    /actuator/logfile                                         200
  POST   /api/2.0/auth/login                                       200 429
  GET    /api/2.0/auth/refresh                                     200
  GET    /api/2.0/auth/logout                                      200
  GET    /api/2.0/user                                             200
  POST   /api/2.0/workbench/task/simulate-work/create              201 423
  GET    /api/2.0/workbench/task/simulate-work/{id}/result         200 404
  POST   /api/2.0/workbench/task/execute-batch-job/create          201 423
  GET    /api/2.0/workbench/task/execute-batch-job/{id}/result     200 404
  GET    /api/2.0/workbench/task/list                              200
  GET    /api/2.0/workbench/task/{id}                              200 404
  GET    /api/2.0/workbench/task/{id}/log                          200 204 404
  DELETE /api/2.0/workbench/task/{id}/cancel                       204 404 409
  DELETE /api/2.0/workbench/task/{id}/delete                       204 404 409
  GET    /api/2.0/workbench/node/instance/list                     200
  GET    /api/2.0/workbench/node/instance/{id}                     200 404
  GET    /api/2.0/workbench/node/instance/{id}/log/{type}          200 404 502
  PATCH  /api/2.0/workbench/node/instance/{id}/start               202 404 502
  PATCH  /api/2.0/workbench/node/instance/{id}/restart             202 404 502
  PATCH  /api/2.0/workbench/node/instance/{id}/stop                202 404 502
  GET    /api/2.0/workbench/node/agent/list                        200
  GET    /api/2.0/workbench/node/agent/{id}                        200 404
  GET    /api/2.1/storage/input/status                             200
  POST   /api/2.0/storage/input/upload                             204 409 423
  GET    /api/2.0/storage/input/{name}                             200 423
  DELETE /api/2.0/storage/input/{name}/delete                      204 423
  GET    /api/2.0/storage/output/{name}/download                   200 423
  GET    /api/2.0/monitoring/server-info                           200
  GET    /api/2.0/admin/prepare-shutdown                           200
  POST   /api/2.0/admin/prepare-shutdown/change                    200
`);

export const SPECIFIED_10 = parse(`
  GET    /actuator/health                                          200
  GET    /actuator/info                                            200
  POST   /api/1.0/auth/login                                       200 429
  POST   /api/1.0/workbench/task/simulate-work/create              201 423
  GET    /api/1.0/workbench/task/simulate-work/{id}/result         200 404
  POST   /api/1.0/workbench/task/execute-batch-job/create          201 423
  GET    /api/1.0/workbench/task/execute-batch-job/{id}/result     200 404
  GET    /api/1.0/workbench/task/list                              200
  GET    /api/1.0/workbench/task/list/running                      200
  GET    /api/1.0/workbench/task/list/waiting                      200
  GET    /api/1.0/workbench/task/{id}                              200 404
  DELETE /api/1.0/workbench/task/{id}/cancel                       204 404 409
  GET    /api/1.0/workbench/node/instance/list                     200
  GET    /api/1.0/workbench/node/instance/{id}                     200 404
  PATCH  /api/1.0/workbench/node/instance/{id}/start               202 404 502
  PATCH  /api/1.0/workbench/node/instance/{id}/stop                202 404 502
  GET    /api/1.0/workbench/node/server/list                       200
  GET    /api/1.0/workbench/node/server/{id}                       200 404
`);

export const SPECIFIED_11 = parse(`
  POST   /api/1.1/workbench/task/simulate-work/create              201 423
  GET    /api/1.1/workbench/task/simulate-work/{id}/result         200 404
  POST   /api/1.1/workbench/task/execute-batch-job/create          201 423
  GET    /api/1.1/workbench/task/execute-batch-job/{id}/result     200 404
  GET    /api/1.1/workbench/task/list                              200
  GET    /api/1.1/workbench/task/list/running                      200
  GET    /api/1.1/workbench/task/list/waiting                      200
  GET    /api/1.1/workbench/task/{id}                              200 404
  GET    /api/1.1/workbench/node/instance/list                     200
  GET    /api/1.1/workbench/node/instance/{id}                     200 404
  GET    /api/1.1/workbench/node/server/list                       200
  GET    /api/1.1/workbench/node/server/{id}                       200 404
`);

/** Endpoints beyond the contract. */
export const ADDITIONS = parse(`
  GET    /livez                                                    200
  GET    /readyz                                                   200 503
  GET    /openapi.json                                             200
  GET    /actuator/prometheus                                      200
  GET    /api/x/sign-on                                            200
  POST   /api/x/sign-on/begin                                      200 404 503
  POST   /api/x/sign-on/finish                                     200 404 503
  POST   /api/x/sign-on/refresh                                    200 404 503
  POST   /api/x/sign-on/end                                        204 404
  GET    /api/x/caller                                             200
  GET    /api/x/hubs                                               200
  GET    /api/x/upstreams                                          200 503
  GET    /api/x/hosts                                              200
  GET    /api/x/hosts/hours                                        200
  GET    /api/x/events                                             200
  GET    /api/x/statistics                                         200
  GET    /api/x/studies                                            200
  POST   /api/x/studies                                            201 423
  GET    /api/x/studies/{id}                                       200 404
  DELETE /api/x/studies/{id}                                       204 404 409
  GET    /api/x/studies/{id}/events                                200 404
  GET    /api/x/studies/{id}/points                                200 404
  POST   /api/x/studies/{id}/points                                200 404 409 423
  POST   /api/x/studies/{id}/pause                                 200 404 409
  POST   /api/x/studies/{id}/resume                                200 404 409
  POST   /api/x/studies/{id}/stop                                  200 404 409
  POST   /api/x/studies/{id}/retry                                 200 404 423
  GET    /api/x/invalidations                                      200
  POST   /api/x/invalidations                                      201 404
  DELETE /api/x/invalidations/{id}                                 204 404
  GET    /api/x/tasks                                              200
  POST   /api/x/tasks                                              201 423
  POST   /api/x/tasks/form                                         201 413 422 423
  POST   /api/x/tasks/cancel                                       200
  POST   /api/x/tasks/delete                                       200
  GET    /api/x/tasks/{id}                                         200 404
  GET    /api/x/tasks/{id}/inputs                                  200 404
  GET    /api/x/tasks/{id}/inputs/{path}                           200 206 304 404 416
  GET    /api/x/tasks/{id}/log                                     200 404
  GET    /api/x/tasks/{id}/outputs                                 200 404
  GET    /api/x/tasks/{id}/outputs/{path}                          200 206 304 404 416
  GET    /api/x/tasks/{id}/archive                                 200 404
  GET    /api/x/tasks/{id}/manifest                                200 404
  GET    /api/x/manifest-keys                                      200
  GET    /api/x/tasks/{id}/explain                                 200 404
  POST   /api/x/explain                                            200
  GET    /api/x/audit                                              200
  GET    /api/x/instances/{id}/crashes                             200 404 502
  GET    /api/x/agents                                             200
  GET    /api/x/agents/{id}                                        200 404
  POST   /api/x/agents/{id}/drain                                  200 404
  POST   /api/x/agents/{id}/undrain                                200 404
  GET    /api/x/agents/{id}/update                                 200 404 502
  POST   /api/x/agents/{id}/update                                 200 404 409 502
  GET    /api/x/rollout                                            200
  POST   /api/x/rollout/stop                                       200 409
  POST   /api/x/rollout/resume                                     200 409
  POST   /api/x/hosts/{name}/pause                                 204 404
  POST   /api/x/hosts/{name}/resume                                204 404
  POST   /api/x/hosts/{name}/drain                                 204 404
  POST   /api/x/agents                                             201
  POST   /api/x/agents/{id}/revoke                                 204 404 409
  GET    /api/x/storage/input                                      200 423
  GET    /api/x/storage/output                                     200 423
  GET    /api/x/storage/inputs/{name}                              200 206 304 404 416 423
  GET    /api/x/storage/inputs/{name}/tasks                        200 404 423
  OPTIONS /api/x/storage/input/uploads                             204
  POST   /api/x/storage/input/uploads                              201 409 412 413 423
  GET    /api/x/storage/input/uploads                              200 423
  GET    /api/x/storage/input/uploads/{id}                         200 404 409 412 413 423 507
  PATCH  /api/x/storage/input/uploads/{id}                         204 404 409 412 413 415 423
  DELETE /api/x/storage/input/uploads/{id}                         204 404 412 423
  POST   /api/x/tokens                                             201 409
  GET    /api/x/tokens                                             200
  DELETE /api/x/tokens/{id}                                        204 404
  GET    /api/x/users                                              200
  POST   /api/x/users                                              201 409
  PATCH  /api/x/users/{name}                                       200 404 409
  POST   /api/x/users/{name}/password                              204 404 409
  DELETE /api/x/users/{name}/sessions                              204 404
`);

function parse(table: string): SpecifiedEndpoint[] {
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [method = '', path = '', ...statuses] = line.trim().split(/ +/);
      return { method, path, statuses: statuses.map(Number) };
    });
}
