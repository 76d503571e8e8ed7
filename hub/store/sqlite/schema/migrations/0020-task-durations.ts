/** Waits and run times of the statistics of tasks, counted by class of duration; see hub/core/durations.ts. */
export const taskDurations = `
  CREATE TABLE task_duration (
    step     TEXT NOT NULL, -- MINUTE or HOUR
    start    INTEGER NOT NULL,
    measure  TEXT NOT NULL, -- WAIT or RUN
    class    INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    total_ms INTEGER NOT NULL,
    PRIMARY KEY (step, start, measure, class)
  ) STRICT, WITHOUT ROWID;
`;
