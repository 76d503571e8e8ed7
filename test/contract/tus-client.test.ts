/** A standard client of tus against the hub: resumable uploads through a connection that is cut. */
import { createHash, randomBytes } from 'node:crypto';
import { Upload, type UploadOptions } from 'tus-js-client';
import { expect, it, onTestFinished } from 'vitest';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { UPLOADS } from '../support/interface/resumable-uploads.js';
import { type CuttingProxy, startCuttingProxy } from '../support/proxies/cutting-proxy.js';

const MIB = 1024 * 1024;
const CUTS = 5;
/** Time for the hub to note the place of a cut, also on a busy machine. */
const RETRY_AFTER_MS = 1000;

hubForEachTest();

async function proxyOf(cuts: readonly number[]): Promise<CuttingProxy> {
  const proxy = await startCuttingProxy(hub.address, cuts);
  onTestFinished(proxy.stop);
  return proxy;
}

function upload(
  address: string,
  content: Buffer,
  name: string,
  options: UploadOptions = {},
): Promise<Upload> {
  return new Promise((resolve, reject) => {
    const started = new Upload(content, {
      endpoint: address + UPLOADS,
      metadata: { filename: name, filetype: 'application/octet-stream' },
      retryDelays: Array.from({ length: CUTS * 2 }, () => RETRY_AFTER_MS),
      onSuccess: () => resolve(started),
      onError: reject,
      ...options,
    });
    started.start();
  });
}

it.each([
  ['in one request', Number.POSITIVE_INFINITY],
  ['in chunks', 5 * MIB],
])(
  '64 MiB %s, cut five times, arrive with at most a twentieth sent again',
  async (_, chunkSize) => {
    const content = randomBytes(64 * MIB);
    const cuts = Array.from({ length: CUTS }, (_each, at) => (at + 1) * 10 * MIB);
    const proxy = await proxyOf(cuts);
    await upload(proxy.address, content, 'gearbox.wbpz', { chunkSize });
    expect(proxy.cuts).toBe(CUTS);
    expect(proxy.sentBytes).toBeLessThan(content.length * 1.05);
    const { body } = await api.get('/api/x/storage/input?prefix=gearbox');
    const digest = createHash('sha256').update(content).digest('hex');
    expect(body['files']).toEqual([expect.objectContaining({ size: content.length, digest })]);
    expect((await api.get(UPLOADS)).body).toEqual({ uploads: [] });
  },
  120_000,
);

it('an empty file arrives, and a name that exists is an error that names it', async () => {
  await upload(hub.address, Buffer.alloc(0), 'empty.txt');
  const again = upload(hub.address, Buffer.alloc(0), 'empty.txt', { retryDelays: [] });
  await expect(again).rejects.toThrow(/there is a file empty\.txt in the input storage already/);
  await upload(`${hub.address}`, Buffer.from('x'), 'empty.txt', {
    endpoint: `${hub.address}${UPLOADS}?overwrite=true&encrypt=true`,
  });
  const { body } = await api.get('/api/x/storage/input?prefix=empty');
  expect(body['files']).toEqual([expect.objectContaining({ size: 1, encrypted: true })]);
});

it('an upload can be ended by the client', async () => {
  const started = await new Promise<Upload>((resolve, reject) => {
    const begun = new Upload(randomBytes(8 * MIB), {
      endpoint: hub.address + UPLOADS,
      metadata: { filename: 'gearbox.wbpz' },
      chunkSize: MIB,
      onChunkComplete: () => void begun.abort().then(() => resolve(begun)),
      onError: reject,
    });
    begun.start();
  });
  expect((await api.get(UPLOADS)).body['uploads']).toHaveLength(1);
  await Upload.terminate(started.url ?? '', {});
  expect((await api.get(UPLOADS)).body).toEqual({ uploads: [] });
});
