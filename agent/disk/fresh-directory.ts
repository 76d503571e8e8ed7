import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';

/** Makes a directory for an attempt and gives its name: `<taskId>-<attempt>`, with a counter when another run of the
 *  same number was here before. The root is made again if somebody has taken it away. */
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
