/** Number of hubs that stand in for the hub of a test: one or, with HUBS in the environment, several on one PostgreSQL database behind a
 *  load balancer. Tests of what each hub has for itself ask for it. */
export const HUBS = Number(process.env['HUBS'] ?? 1);

/** Path by which a shutdown of the hub of a test is prepared, or of all that stand in for it. */
export const PREPARE_SHUTDOWN = `/api/2.0/admin/prepare-shutdown/change${HUBS > 1 ? '?scope=cluster' : ''}`;
