import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

/** Makes a directory for an attempt and gives its name: `<taskId>-<attempt>`, with a counter when another run of the
 *  same number was here before. */
export function makeFreshDirectory(root: string, { taskId, attempt }: AttemptRef): string {
  for (let again = 1; ; again++) {
    const name = again === 1 ? `${taskId}-${attempt}` : `${taskId}-${attempt}.${again}`;
    try {
      mkdirSync(join(root, name), { mode: 0o700 });
      return name;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
