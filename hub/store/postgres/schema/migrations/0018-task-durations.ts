/** Waits and run times of the statistics of tasks, counted by class of duration; see hub/core/durations.ts. */
export const taskDurations = {
  id: '0018-task-durations',
  phase: 'expand',
  sql: `
  CREATE TABLE task_duration (
    step     TEXT COLLATE "C" NOT NULL, -- MINUTE or HOUR
    start    BIGINT NOT NULL,
    measure  TEXT COLLATE "C" NOT NULL, -- WAIT or RUN
    class    SMALLINT NOT NULL,
    count    BIGINT NOT NULL,
    total_ms BIGINT NOT NULL,
    PRIMARY KEY (step, start, measure, class)
  );
`,
} as const;
