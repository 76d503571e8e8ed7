/** Results that are too large to be assembled in memory. */
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';

hubForAllTests();

let agent: FakeAgent;
beforeAll(async () => {
  agent = await FakeAgent.join(hub);
});
afterAll(() => agent.leave());

/** Bytes that repeat only after a prime number of them, so that no piece looks like another. */
function bytes(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => at % 251));
}

it('large results are complete in every API version', async () => {
  const id = await api.batchJob();
  const { ref } = await agent.hear('assign');
  const contents = new Map([
    ['a.bin', bytes(3_000_001)],
    ['empty', bytes(0)],
    ['folder/"quoted" ü.bin', bytes(65_537)],
    ['folder/small', bytes(5)],
  ]);
  const outputFiles: NamedFileRef[] = [];
  for (const [path, content] of contents) outputFiles.push({ path, ...(await agent.upload(content)) });
  await agent.end(ref, 'OK', { outputFiles });

  for (const generation of ['2.0', '1.1', '1.0']) {
    const { body } = await api.get(`/api/${generation}/workbench/task/execute-batch-job/${id}/result`);
    const files = (body as { outputFiles: { directory?: string; filename: string; content: string }[] })
      .outputFiles;
    const got = files.map(({ directory, filename, content }) => ({
      path: directory === undefined ? filename : `${directory}/${filename}`,
      same: Buffer.from(content, 'base64').equals(
        contents.get([directory, filename].filter(Boolean).join('/')) as Buffer,
      ),
    }));
    expect(got).toEqual([...contents.keys()].map((path) => ({ path, same: true })));
  }
});

it.each([
  ['cut short', (path: string) => truncateSync(path, 1_500_000), /has 1500000 instead of 2000000 bytes/],
  ['gone', (path: string) => rmSync(path), /is missing/],
])(
  'large results with a file that is %s on the disk are aborted, and the log says why',
  async (_, damage, why) => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const content = await agent.upload(Buffer.concat([Buffer.from(id), bytes(2_000_000 - id.length)]));
    await agent.end(ref, 'OK', { outputFiles: [{ path: 'a.bin', ...content }] });
    const { digest } = content;
    damage(join(hub.blobFolder, digest.slice(0, 2), digest));

    const answer = await fetch(`${hub.address}/api/2.0/workbench/task/execute-batch-job/${id}/result`);
    await expect(answer.text()).rejects.toThrow();
    const line = hub.log.find((entry) => entry['taskId'] === id && /^response aborted/.test(entry.msg));
    expect((line?.['err'] as { message: string } | undefined)?.message).toMatch(why);
  },
);
