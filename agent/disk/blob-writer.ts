import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '@workbench-hub/shared/runtime/replace-file';
import type { BlobWriter } from '../core/ports/spool.js';

/** Creates a blob in `folder`: under a temporary name first, then under its digest. */
export async function beginContent(folder: string, temporaryName: string): Promise<BlobWriter> {
  const temporary = join(folder, temporaryName);
  const file = await open(temporary, 'wx', 0o600);
  const hash = createHash('sha256');
  let sizeBytes = 0;
  return {
    async write(bytes) {
      hash.update(bytes);
      sizeBytes += bytes.length;
      for (let done = 0; done < bytes.length; ) {
        done += (await file.write(bytes, done, bytes.length - done)).bytesWritten;
      }
    },
    async finish() {
      await file.close();
      const digest = hash.digest('hex');
      await replaceFile(temporary, join(folder, digest));
      return { digest, sizeBytes };
    },
    async abandon() {
      await file.close();
      await rm(temporary, { force: true });
    },
  };
}
