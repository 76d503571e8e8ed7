/** Times that allocations have run. */
import type { Allocations } from '../../../core/ports/allocations.js';
import {
  IS_OPEN_ALLOCATION,
  LONGEST_ALLOCATION,
  type RanForUserRow,
  type RanInPeriodRow,
  ranForUserOfRow,
  ranInPeriodOfRow,
} from '../../rows/allocation-row.js';
import type { SqliteDatabase } from '../connection/database.js';

/** Time until which an allocation ran. Its end may have been noticed long after that of its time. */
const RAN_UNTIL = 'min(coalesce(ended_at, @now), coalesce(ends_at, ended_at, @now))';

type AllocationTimes = Pick<Allocations, 'ranSince' | 'ranForUsersSince' | 'ranIn'>;

export function allocationTimes(db: SqliteDatabase): AllocationTimes {
  const selectRan = db.prepare<[{ since: number; now: number }], { recipe: string; ran: number }>(
    `SELECT recipe, sum(max(0, ${RAN_UNTIL} - max(started_at, @since))) AS ran FROM (
       SELECT recipe, started_at, ends_at, ended_at FROM allocation WHERE ended_at > @since
       UNION ALL SELECT recipe, started_at, ends_at, ended_at FROM allocation WHERE ${IS_OPEN_ALLOCATION})
     WHERE started_at IS NOT NULL GROUP BY recipe`,
  );
  const selectRanForUsers = db.prepare<[{ since: number; now: number }], RanForUserRow>(
    `SELECT recipe, for_user, sum(max(0, ${RAN_UNTIL} - max(started_at, @since))) AS ran FROM (
       SELECT recipe, for_user, started_at, ends_at, ended_at FROM allocation WHERE ended_at > @since
       UNION ALL SELECT recipe, for_user, started_at, ends_at, ended_at FROM allocation WHERE ${IS_OPEN_ALLOCATION})
     WHERE started_at IS NOT NULL AND for_user IS NOT NULL
     GROUP BY recipe, for_user ORDER BY recipe, for_user`,
  );
  const selectRanIn = db.prepare<[{ periods: string; now: number }], RanInPeriodRow>(
    `WITH period AS MATERIALIZED (
       SELECT key AS at, value ->> 'fromMs' AS since, value ->> 'untilMs' AS until FROM json_each(@periods))
     SELECT at, recipe, sum(max(0, min(${RAN_UNTIL}, until) - max(started_at, since))) AS ran FROM (
       SELECT at, since, until, recipe, started_at, ends_at, ended_at FROM period CROSS JOIN allocation
       WHERE ended_at > since AND ended_at < until + (${LONGEST_ALLOCATION})
       UNION ALL SELECT at, since, until, recipe, started_at, ends_at, ended_at FROM period CROSS JOIN allocation
       WHERE ${IS_OPEN_ALLOCATION} AND @now > since)
     WHERE started_at < until GROUP BY at, recipe ORDER BY at, recipe`,
  );
  return {
    ranSince: async (since, now) =>
      new Map(selectRan.all({ since, now }).map(({ recipe, ran }) => [recipe, ran])),
    ranForUsersSince: async (since, now) => selectRanForUsers.all({ since, now }).map(ranForUserOfRow),
    ranIn: async (periods, now) =>
      selectRanIn.all({ periods: JSON.stringify(periods), now }).map(ranInPeriodOfRow),
  };
}
