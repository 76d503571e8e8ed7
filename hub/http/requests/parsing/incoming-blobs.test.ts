import { createHash } from 'node:crypto';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { expect, it } from 'vitest';
import type { BlobStore, Hold } from '../../../core/ports/blobs.js';
import { IncomingBlobs } from './incoming-blobs.js';

it('each blob of a body is stored under the hold of its request, however long the body takes', async () => {
  const hold: Hold = { add: () => undefined, release: () => undefined, abandon: () => undefined };
  const held: { digest: string; hold: Hold | undefined }[] = [];
  const files = {
    store: async (content: AsyncIterable<Buffer>, _maxBytes: number, hold?: Hold): Promise<FileRef> => {
      const hash = createHash('sha256');
      let sizeBytes = 0;
      for await (const piece of content) {
        hash.update(piece);
        sizeBytes += piece.length;
      }
      const digest = hash.digest('hex');
      held.push({ digest, hold });
      return { digest, sizeBytes };
    },
  } as unknown as BlobStore;
  const blobs = new IncomingBlobs({ files, limits: { maxFileBytes: 1024, maxFiles: 10 }, hold });
  const receive = async (text: string): Promise<string> => {
    const stored = blobs.begin('inputScripts[0].content');
    blobs.push(Buffer.from(Buffer.from(text).toString('base64')));
    blobs.end();
    return (await stored.ref).digest;
  };
  const digests = [await receive('first'), await receive('second')];
  expect(held).toEqual(digests.map((digest) => ({ digest, hold })));
});
