/** The rules for names in the storage (contract 7.1). */

export const INPUT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/;

export const INPUT_NAME_ALLOWED =
  'must have 3 to 64 characters, of which the first is a letter or digit (A-Z, a-z, 0-9) and the others may also be . _ -';

/** The name in the output storage of a file that a task left there. */
export function outputName(taskId: string, fileName: string): string {
  return `${taskId}-${fileName}`;
}
