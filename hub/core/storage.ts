/** Rules for names of named objects (contract 7.1). */
import { isDeviceName } from '@workbench-hub/shared/domain/reserved-names';

export const INPUT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/;

export const INPUT_NAME_ALLOWED =
  'must have 3 to 64 characters, of which the first is a letter or digit (A-Z, a-z, 0-9) and the others may also be . _ -';

/** Validation error of the name of an upload that a host with Windows could not store; undefined for none, and for names that
 *  {@link INPUT_NAME} refuses. */
export function inputNameFault(name: string): string | undefined {
  if (isDeviceName(name))
    return 'must not be the name of a device on Windows (CON, PRN, AUX, NUL, COM1, LPT1 and the like), also with an extension';
  return name.endsWith('.') ? 'must not end with a dot: no file on Windows has such a name' : undefined;
}

/** Maximum number of files of one user in the input storage: names take space that no quota counts. */
export const MAX_INPUT_FILES = 100_000;

/** Name in the output storage of a file that a task left there. */
export function outputName(taskId: string, fileName: string): string {
  return `${taskId}-${fileName}`;
}
