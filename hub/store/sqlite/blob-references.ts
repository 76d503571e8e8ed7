/** The SQL condition that a task or a name in the storage refers to a content, in the form that it lies in. Both
 *  arguments are SQL expressions. */
export function isNamed(digest: string, encrypted: string): string {
  const refersTo = (table: string) =>
    `EXISTS (SELECT 1 FROM ${table} WHERE ${table}.digest = ${digest} AND ${table}.encrypted = ${encrypted})`;
  return `(${refersTo('task_file')} OR ${refersTo('stored_file')})`;
}
