/** SQL expression of a time of use that differs from the one before and is close to `now`. All arguments are SQL expressions. */
export function anotherTime(former: string, now: string): string {
  return `(CASE WHEN ${former} BETWEEN ${now} AND ${now} + 999 THEN ${former} + 1 ELSE ${now} END)`;
}

/** SQL condition that a task, a named object or a study refers to a blob in this form. Both arguments are SQL expressions. */
export function isReferenced(digest: string, encrypted: string): string {
  const refersTo = (table: string) =>
    `EXISTS (SELECT FROM ${table} WHERE ${table}.digest = ${digest} AND ${table}.encrypted = ${encrypted})`;
  return `(${refersTo('task_file')} OR ${refersTo('stored_file')} OR ${refersTo('study_file')})`;
}
