/** Makes the program workbench-hub into one of a later version: this build with migrations of the next schema generation, or of the next
 *  two. Imported before the program (`node --import`). */
import { type Migration, newestGeneration } from '@workbench-hub/hub/store/postgres/schema/migration';
import { MIGRATIONS } from '@workbench-hub/hub/store/postgres/schema/schema';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { AHEAD } from './later-hub.js';

const next = newestGeneration(MIGRATIONS) + 1;

const LATER: readonly Migration[] = [
  {
    ...{ id: '9001-mark', phase: 'expand', generation: next },
    sql: 'ALTER TABLE task ADD COLUMN mark TEXT; CREATE TABLE marked_part (rows INTEGER);',
  },
  {
    ...{ id: '9002-older-marks', phase: 'backfill', generation: next },
    sql: `WITH part AS (
        UPDATE task SET mark = status WHERE seq IN (SELECT seq FROM task WHERE mark IS NULL ORDER BY seq LIMIT 3) RETURNING seq)
      INSERT INTO marked_part (rows) SELECT count(*) FROM part HAVING count(*) > 0`,
  },
  {
    ...{ id: '9003-whole-marks', phase: 'contract', generation: next },
    sql: `UPDATE task SET mark = status WHERE mark IS NULL;
      ALTER TABLE task ALTER COLUMN mark SET DEFAULT 'new', ALTER COLUMN mark SET NOT NULL`,
  },
  {
    ...{ id: '9101-later', phase: 'expand', generation: next + 1 },
    sql: 'ALTER TABLE hub ADD COLUMN later TEXT',
  },
];

const generation = newestGeneration(MIGRATIONS) + Number(process.env[AHEAD] ?? 1);
(MIGRATIONS as Migration[]).push(...LATER.filter((each) => (each.generation ?? 1) <= generation));
Object.assign(buildInfo, { version: `${generation}.0.0-next` });
