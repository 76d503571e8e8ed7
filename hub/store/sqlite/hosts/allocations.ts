import type { Allocations } from '../../../core/ports/allocations.js';
import {
  ALLOCATION_COLUMNS,
  type AllocationRow,
  allocationOfRow,
  IS_OPEN_ALLOCATION,
  LATEST_ALLOCATIONS,
  noteOfRow,
  type RecipeNoteRow,
  rowOfAllocation,
  valuesOfNote,
} from '../../rows/allocation-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import { allocationTimes } from './allocation-times.js';

export function sqliteAllocations(db: SqliteDatabase, commit: GroupCommit): Allocations {
  const insert = db.prepare<[AllocationRow]>(
    `INSERT INTO allocation (${ALLOCATION_COLUMNS}) VALUES (@id, @recipe, @state, @job_id, @reason, @for_user, @cause, @message,
       @wanted_at, @started_at, @joined_at, @ends_at, @ended_at)`,
  );
  const update = db.prepare<[AllocationRow & { readonly from: string }]>(
    `UPDATE allocation SET state = @state, job_id = @job_id, cause = @cause, message = @message, started_at = @started_at,
       joined_at = @joined_at, ends_at = @ends_at, ended_at = @ended_at
     WHERE id = @id AND state = @from`,
  );
  const selectOpen = db.prepare<[], AllocationRow>(
    `SELECT ${ALLOCATION_COLUMNS} FROM allocation WHERE ${IS_OPEN_ALLOCATION} ORDER BY seq`,
  );
  const select = db.prepare<[string], AllocationRow>(
    `SELECT ${ALLOCATION_COLUMNS} FROM allocation WHERE id = ?`,
  );
  const selectLatest = db.prepare<[{ recipe: string | null; limit: number; now: number }], AllocationRow>(
    LATEST_ALLOCATIONS,
  );
  // An allocation that came and went between two looks has raised the highest number.
  const selectVersion = db
    .prepare<[], string>(
      `SELECT (SELECT coalesce(max(seq), 0) FROM allocation) || '/' || coalesce(group_concat(seq), '')
       FROM (SELECT seq FROM allocation WHERE ${IS_OPEN_ALLOCATION} ORDER BY seq)`,
    )
    .pluck();
  const remove = db.prepare<[number, number]>(
    'DELETE FROM allocation WHERE seq IN (SELECT seq FROM allocation WHERE ended_at < ? LIMIT ?)',
  );
  const selectNotes = db.prepare<[], RecipeNoteRow>('SELECT * FROM host_recipe ORDER BY recipe');
  const putNote = db.prepare<[ReturnType<typeof valuesOfNote> & { readonly recipe: string }]>(`
    INSERT INTO host_recipe (recipe, paused_at, paused_by, resumed_at, drained_at, drained_by, fault)
    VALUES (@recipe, @pausedAt, @pausedBy, @resumedAt, @drainedAt, @drainedBy, @fault)
    ON CONFLICT (recipe) DO UPDATE SET
      paused_at = iif(@hasPause, excluded.paused_at, paused_at), paused_by = iif(@hasPause, excluded.paused_by, paused_by),
      resumed_at = iif(@hasResumption, excluded.resumed_at, resumed_at),
      drained_at = iif(@hasDrain, excluded.drained_at, drained_at), drained_by = iif(@hasDrain, excluded.drained_by, drained_by),
      fault = iif(@hasFault, excluded.fault, fault)`);
  return {
    notes: async () => selectNotes.all().map(noteOfRow),
    note: (recipe, change) => commit.durable(() => void putNote.run({ recipe, ...valuesOfNote(change) })),
    add: async (allocation) => {
      await commit.durable(() => void insert.run(rowOfAllocation(allocation)));
      return true;
    },
    change: (allocation, from) =>
      commit.durable(() => update.run({ ...rowOfAllocation(allocation), from }).changes > 0),
    open: async () => selectOpen.all().map(allocationOfRow),
    find: async (id) => {
      const row = select.get(id);
      return row && allocationOfRow(row);
    },
    latest: async ({ recipe, limit, nowMs }) =>
      selectLatest.all({ recipe, limit, now: nowMs }).map(allocationOfRow),
    ...allocationTimes(db),
    version: async () => selectVersion.get() as string,
    removeBefore: (endedBeforeMs, limit) => commit.freeing(() => remove.run(endedBeforeMs, limit).changes),
  };
}
