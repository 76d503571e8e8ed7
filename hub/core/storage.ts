/** The rules for names in the storage (contract 7.1). */
import { isDeviceName } from '@workbench-hub/shared/domain/reserved-names';

export const INPUT_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/;

export const INPUT_NAME_ALLOWED =
  'must have 3 to 64 characters, of which the first is a letter or digit (A-Z, a-z, 0-9) and the others may also be . _ -';

/** What is wrong with the name of a file that is uploaded: a simulation host with Windows could not have it. Undefined for
 *  nothing, and for what {@link INPUT_NAME} refuses. */
export function inputNameFault(name: string): string | undefined {
  if (isDeviceName(name))
    return 'must not be the name of a device on Windows (CON, PRN, AUX, NUL, COM1, LPT1 and the like), also with an extension';
  return name.endsWith('.') ? 'must not end with a dot: no file on Windows has such a name' : undefined;
}

/** How many files one user may have in the input storage: their names take room that no quota counts. */
export const MAX_INPUT_FILES = 100_000;

/** The name in the output storage of a file that a task left there. */
export function outputName(taskId: string, fileName: string): string {
  return `${taskId}-${fileName}`;
}
