/** Uploads by the client library that go on, and those of browsers that digest nothing. */
import { Hub, type UploadProgress } from '@workbench-hub/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { type CuttingProxy, startCuttingProxy } from '../support/proxies/cutting-proxy.js';

const MIB = 1024 * 1024;

let hub: RunningHub;
let proxy: CuttingProxy | undefined;
beforeEach(async () => {
  hub = await startHub({ config: { storage: { input: { enabled: true } } } });
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await proxy?.stop();
  proxy = undefined;
  await hub.stop();
});

interface Stored {
  readonly name: string;
  readonly size: number;
  readonly digest: string;
}

async function stored(): Promise<readonly Stored[]> {
  const response = await fetch(`${hub.address}/api/x/storage/input`);
  return ((await response.json()) as { files: Stored[] }).files;
}

/** Bytes that are not all the same. */
function content(bytes: number): Blob {
  return new Blob([Uint8Array.from({ length: bytes }, (_, at) => (at * 31 + (at >> 8)) & 255)]);
}

it('continues an upload by its id, without reading what was sent', async () => {
  const file = content(20 * MIB);
  proxy = await startCuttingProxy(hub.address, [6 * MIB]);
  let id: string | undefined;
  const inParts = {
    onId: (begun: string) => {
      id = begun;
    },
  };
  const impatient = new Hub({ url: proxy.address, retryDelaysMs: [] });
  await expect(impatient.storage.put('large.bin', file, { inParts })).rejects.toThrow(/cannot be reached/);
  const progress: UploadProgress[] = [];
  await new Hub({ url: hub.address }).storage.put('large.bin', file, {
    inParts: { continues: id },
    onProgress: (each) => progress.push(each),
  });
  expect(progress[0]?.bytes).toBeGreaterThan(0);
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', await file.arrayBuffer())).toString('hex');
  expect(await stored()).toMatchObject([{ name: 'large.bin', size: 20 * MIB, digest }]);
});

it('begins anew when the id is unknown, or one of another file', async () => {
  const storage = new Hub({ url: hub.address }).storage;
  let id: string | undefined;
  const onId = (begun: string) => {
    id = begun;
  };
  await storage.put('one.bin', content(10), { inParts: { continues: 'gone', onId } });
  await storage.put('two.bin', content(11), { inParts: { continues: id } });
  expect((await stored()).map(({ name, size }) => [name, size])).toEqual([
    ['one.bin', 10],
    ['two.bin', 11],
  ]);
});

it('hands in large files where the browser digests nothing', async () => {
  vi.stubGlobal('crypto', { randomUUID: () => '0b9a3c1e-7d52-4f60-8a11-2f6f3d1c9e77' });
  const client = new Hub({ url: hub.address });
  const file = content(300 * 1024);
  const first = await client.submit({ scripts: ['1'], files: { 'mesh.bin': file } });
  const { inputs } = await first.details();
  expect(inputs).toContainEqual(expect.objectContaining({ kind: 'ADDITIONAL_FILE', size: 300 * 1024 }));
  expect((await stored()).map(({ name }) => name)).toEqual(['content-0b9a3c1e-7d52-4f60-8a11-2f6f3d1c9e77']);
});
