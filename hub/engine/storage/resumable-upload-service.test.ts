import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import { type ResumableUploadOptions, ResumableUploadService } from './resumable-upload-service.js';

const USER = { owner: null, changesAll: true };

/** A service with one upload of ten bytes, of which what has arrived is kept when the test says so. */
function serviceOfSlowDisk() {
  let receivedBytes = 0;
  let keep: () => void = () => undefined;
  const isKept = new Promise<void>((resolve) => {
    keep = resolve;
  });
  const service = new ResumableUploadService({
    refuseWhileOff: () => undefined,
    runtime: manualRuntime(),
    hubs: { ownId: 'own' },
    settings: { keepUploadsForMs: 1000 },
    uploads: {
      find: async () => ({ ...USER, id: 'u', hubId: 'own', sizeBytes: 10, receivedBytes, isStored: false }),
      advance: async (_: string, __: number, bytes: number) => {
        receivedBytes = bytes;
        return true;
      },
    },
    files: {
      uploads: {
        freeBytes: async () => 1000,
        append: async (
          _: unknown,
          __: number,
          pieces: AsyncIterable<Buffer>,
          onDurable: (bytes: number) => Promise<void>,
        ) => {
          let bytes = 0;
          for await (const piece of pieces) bytes += piece.length;
          await isKept;
          await onDurable(bytes);
        },
      },
    },
  } as unknown as ResumableUploadOptions);
  return { service, keep };
}

it('the place of an upload is told when what arrived of a part that was cut off is kept', async () => {
  const { service, keep } = serviceOfSlowDisk();
  const content = new PassThrough();
  const part = { fromByte: 0, lengthBytes: null, content, reauthorize: async () => USER };
  const cut = expect(service.receive('u', USER, part)).rejects.toThrow('Premature close');
  content.write('abc');
  while (content.readableLength > 0) await setImmediate();
  content.destroy();
  await once(content, 'close');
  const found = service.find('u', USER);
  await setImmediate();
  keep();
  expect(await found).toMatchObject({ receivedBytes: 3 });
  await cut;
});

it('tells of a complete upload at once when its sender is cut off while its end takes long', async () => {
  const runtime = manualRuntime();
  const upload = { ...USER, id: 'u', hubId: 'own', name: 'gear', sizeBytes: 3, receivedBytes: 3 };
  let isStored = false;
  let makeBlob: (blob: { digest: string; sizeBytes: number }) => void = () => undefined;
  const blob = new Promise<{ digest: string; sizeBytes: number }>((resolve) => {
    makeBlob = resolve;
  });
  const service = new ResumableUploadService({
    refuseWhileOff: () => undefined,
    runtime,
    hubs: { ownId: 'own' },
    settings: { keepUploadsForMs: 1000, quotaPerUserBytes: null, shared: false },
    uploads: {
      find: async () => ({ ...upload, overwrite: false, digest: null, isStored }),
      finish: async () => {
        isStored = true;
        return { kind: 'NAMED' };
      },
    },
    files: {
      hold: () => ({ release: () => undefined }),
      reclaim: async () => undefined,
      uploads: { remove: async () => undefined, toBlob: () => blob },
    },
  } as unknown as ResumableUploadOptions);
  const content = new PassThrough();
  const part = { fromByte: 3, lengthBytes: 0, content, reauthorize: async () => USER };
  const sent = service.receive('u', USER, part);
  await setImmediate();
  content.destroy();
  const refused = expect(service.find('u', USER)).rejects.toMatchObject({ code: 'UPLOAD_IN_PROGRESS' });
  await setImmediate();
  await runtime.advance(5000);
  await refused;
  const again = { ...part, content: new PassThrough() };
  await expect(service.receive('u', USER, again)).rejects.toMatchObject({ code: 'UPLOAD_IN_PROGRESS' });
  makeBlob({ digest: 'd', sizeBytes: 3 });
  expect(await sent).toMatchObject({ isStored: true });
  expect(await service.find('u', USER)).toMatchObject({ isStored: true });
});

it('a complete upload that could overwrite none waits for no removal of what others have dropped', async () => {
  const upload = { ...USER, id: 'u', hubId: 'own', name: 'gear', sizeBytes: 3, receivedBytes: 3 };
  const service = new ResumableUploadService({
    refuseWhileOff: () => undefined,
    runtime: manualRuntime(),
    hubs: { ownId: 'own' },
    settings: { keepUploadsForMs: 1000, quotaPerUserBytes: null, shared: false },
    uploads: {
      find: async () => ({ ...upload, overwrite: false, digest: null, isStored: false }),
      finish: async () => ({ kind: 'NAMED' }),
    },
    files: {
      hold: () => ({ release: () => undefined }),
      reclaim: () => new Promise(() => undefined),
      uploads: { remove: async () => undefined, toBlob: async () => ({ digest: 'd', sizeBytes: 3 }) },
    },
  } as unknown as ResumableUploadOptions);
  const part = { fromByte: 3, lengthBytes: 0, content: new PassThrough(), reauthorize: async () => USER };
  expect(await service.receive('u', USER, part)).toMatchObject({ isStored: true });
});

describe('a sender who is made USER while the blob is made', () => {
  const SENDER = { owner: 'eve', changesAll: true };

  /** A service with one complete upload, whose sender loses rights when its blob is made; gives whose files it may replace then. */
  function serviceOfDemotion() {
    let sender = SENDER;
    const ofOwners: unknown[] = [];
    const upload = { owner: 'eve', id: 'u', hubId: 'own', name: 'gear', sizeBytes: 3, receivedBytes: 3 };
    const service = new ResumableUploadService({
      refuseWhileOff: () => undefined,
      runtime: manualRuntime(),
      hubs: { ownId: 'own' },
      settings: { keepUploadsForMs: 1000, quotaPerUserBytes: null, shared: false },
      reclaim: async () => undefined,
      uploads: {
        find: async () => ({ ...upload, overwrite: true, digest: null, isStored: false }),
        finish: async (_: string, __: unknown, { ofOwner }: { ofOwner?: string }) => {
          ofOwners.push(ofOwner);
          return { kind: 'NAMED' };
        },
      },
      files: {
        hold: () => ({ release: () => undefined }),
        reclaim: async () => undefined,
        uploads: {
          remove: async () => undefined,
          toBlob: async () => {
            sender = { ...SENDER, changesAll: false };
            return { digest: 'd', sizeBytes: 3 };
          },
        },
      },
    } as unknown as ResumableUploadOptions);
    return { service, ofOwners, reauthorize: async () => sender };
  }

  it('replaces own files only by the last part', async () => {
    const { service, ofOwners, reauthorize } = serviceOfDemotion();
    const part = { fromByte: 3, lengthBytes: 0, content: new PassThrough(), reauthorize };
    expect(await service.receive('u', SENDER, part)).toMatchObject({ isStored: true });
    expect(ofOwners).toEqual(['eve']);
  });

  it('replaces own files only by a look for a complete upload', async () => {
    const { service, ofOwners, reauthorize } = serviceOfDemotion();
    const naming = { onNaming: () => undefined, reauthorize };
    expect(await service.find('u', SENDER, naming)).toMatchObject({ isStored: true });
    expect(ofOwners).toEqual(['eve']);
  });
});
