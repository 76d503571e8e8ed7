/** Note of a task, as it is and as lists search it. */
export const notes = `
  ALTER TABLE task ADD COLUMN note TEXT;
  ALTER TABLE listed_task ADD COLUMN note TEXT;
`;
