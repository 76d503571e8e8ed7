/** Number of hubs that stand in for the hub of a test: one or, with HUBS in the environment, several on one PostgreSQL database behind a
 *  load balancer. Tests of what each hub has for itself ask for it. */
export const HUBS = Number(process.env['HUBS'] ?? 1);

const OF_ALL = HUBS > 1 ? '?scope=cluster' : '';

/** Path of the shutdown preparation of the hub of a test, or of all that stand in for it. */
export const SHUTDOWN_STATUS = `/api/2.0/admin/prepare-shutdown${OF_ALL}`;

/** Path by which that is changed. */
export const PREPARE_SHUTDOWN = `/api/2.0/admin/prepare-shutdown/change${OF_ALL}`;

/** Part of its status that says whose it is. */
export const SHUTDOWN_SCOPE = HUBS > 1 ? { scope: 'cluster' } : {};
