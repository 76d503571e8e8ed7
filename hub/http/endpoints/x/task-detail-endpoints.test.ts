import { Readable } from 'node:stream';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { expect, it, vi } from 'vitest';
import { runningTaskWith } from '../../../core/fixtures/task.js';
import type { BlobStore } from '../../../core/ports/blobs.js';
import type { TaskFiles } from '../../../core/task.js';
import { TaskDetailsReader } from '../../../engine/tasks/task-details.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import type { EndpointInput } from '../../routing/endpoint.js';
import { taskDetailEndpoints } from './task-detail-endpoints.js';

it('the archive of all outputs reads the rows of the files once', async () => {
  const outputFiles = Array.from({ length: 20 }, (_, at) => ({
    path: `${at}`,
    digest: `${at}`,
    sizeBytes: 1,
  }));
  const filesOf = vi.fn(async () => ({ outputFiles }) as unknown as TaskFiles);
  const tasks = { get: async () => runningTaskWith({ id: 't' }) } as unknown as Tasks;
  const files = {
    hold: () => ({ add: () => undefined, release: () => undefined, abandon: () => undefined }),
    holdBriefly: () => undefined,
    find: async () => ({ sizeBytes: 1, isEncrypted: false, open: () => Readable.from([Buffer.from('x')]) }),
  } as unknown as BlobStore;
  const archive = { filesOf } as never;
  const details = new TaskDetailsReader({ tasks, archive, files, webhooks: null });
  const all = taskDetailEndpoints({ tasks, details, log: {} as Logger });
  const endpoint = all.find(({ spec }) => spec.operationId === 'downloadTaskOutputs');
  const context = { req: { raw: new Request('http://hub') } };
  const input = { params: { id: 't' }, context } as unknown as EndpointInput<unknown, unknown, unknown>;
  const response = (await endpoint?.handle(input)) as Response;
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(20 * 1024);
  expect(filesOf).toHaveBeenCalledTimes(1);
});
