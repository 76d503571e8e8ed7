import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';

/** Creates a directory for an attempt and returns its name: `<taskId>-<attempt>`, with a counter when the name is taken.
 *  Creates the root again if it was removed. */
export async function makeFreshDirectory(root: string, { taskId, attempt }: AttemptRef): Promise<string> {
  for (let again = 1; ; ) {
    const name = again === 1 ? `${taskId}-${attempt}` : `${taskId}-${attempt}.${again}`;
    try {
      await mkdir(join(root, name), { mode: PRIVATE_FOLDER_MODE });
      return name;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') again++;
      else if (code === 'ENOENT') await mkdir(root, { recursive: true, mode: PRIVATE_FOLDER_MODE });
      else throw error;
    }
  }
}
