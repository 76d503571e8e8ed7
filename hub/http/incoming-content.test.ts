import { createHash } from 'node:crypto';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { FileStore } from '../core/ports/files.js';
import { IncomingContents } from './incoming-content.js';

const MINUTE_MS = 60_000;

/** Contents that nothing names are swept after an hour. */
let kept: Map<string, number>;
let renewed: string[];
let runtime: ReturnType<typeof manualRuntime>;
let contents: IncomingContents;
beforeEach(() => {
  kept = new Map();
  renewed = [];
  runtime = manualRuntime();
  const files = {
    store: async (content: AsyncIterable<Buffer>): Promise<FileRef> => {
      const hash = createHash('sha256');
      let sizeBytes = 0;
      for await (const piece of content) {
        hash.update(piece);
        sizeBytes += piece.length;
      }
      const digest = hash.digest('hex');
      kept.set(digest, runtime.clock.nowMs());
      return { digest, sizeBytes };
    },
    renew: async (digest: string) => {
      renewed.push(digest);
      if (!kept.has(digest)) return false;
      kept.set(digest, runtime.clock.nowMs());
      return true;
    },
  } as unknown as FileStore;
  contents = new IncomingContents({
    files,
    clock: runtime.clock,
    limits: { maxFileBytes: 1024, maxFiles: 10 },
  });
});

/** One content of the body; gives its digest. */
async function come(text: string): Promise<string> {
  const stored = contents.begin('inputScripts[0].content');
  contents.push(Buffer.from(Buffer.from(text).toString('base64')));
  contents.end();
  return (await stored.ref).digest;
}

it('renews the contents of a body that takes over an hour to come, so that none is swept before its task names it', async () => {
  const first = await come('first');
  await runtime.advance(19 * MINUTE_MS);
  await contents.keepUp();
  expect(renewed).toEqual([]);
  await runtime.advance(2 * MINUTE_MS);
  await contents.keepUp();
  expect(renewed).toEqual([first]);
  const second = await come('second');
  await runtime.advance(40 * MINUTE_MS);
  await contents.finish();
  expect(renewed).toEqual([first, first, second]);
  for (const storedAtMs of kept.values()) expect(storedAtMs).toBe(runtime.clock.nowMs());
});

it('refuses a body of which a content was swept while the clock jumped', async () => {
  await come('first');
  await runtime.advance(90 * MINUTE_MS);
  kept.clear();
  await expect(contents.keepUp()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});
