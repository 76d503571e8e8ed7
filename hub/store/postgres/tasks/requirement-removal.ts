import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';

export interface RequirementPage {
  readonly afterId: number;
  readonly limit: number;
}

export interface RemovedRequirements {
  readonly removed: number;
  /** Id after which the next page begins; null after the last one. */
  readonly nextAfterId: number | null;
}

/** Removes the requirements of one page that no task has. The latest one stays, as on SQLite. Written by the lane that inserts
 *  tasks, so that no task gets a requirement meanwhile. */
export const REMOVE_REQUIREMENTS: LaneWrite<RequirementPage, RemovedRequirements> = {
  statement: laneStatement({
    parameters: { afterId: 'bigint', pageSize: 'bigint' },
    parts: `
      page AS (
        SELECT requirement.id FROM held, requirement WHERE requirement.id > :afterId ORDER BY requirement.id LIMIT :pageSize),
      removed AS (
        DELETE FROM requirement USING page WHERE requirement.id = page.id
          AND requirement.id < (SELECT max(id) FROM requirement)
          AND NOT EXISTS (SELECT FROM task_request WHERE task_request.requirement_id = requirement.id)
        RETURNING requirement.id)`,
    outcome: `SELECT json_build_object('removed', (SELECT count(*) FROM removed),
      'nextAfterId', CASE WHEN (SELECT count(*) FROM page) = :pageSize THEN (SELECT max(id) FROM page) END)`,
  }),
  isDurable: true,
  keys: () => ['page'],
  values: ([page]) => ({ afterId: page?.afterId ?? 0, pageSize: page?.limit ?? 0 }),
  results: (_, outcome) => [outcome as RemovedRequirements],
};
