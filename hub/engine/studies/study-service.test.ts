import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { ANYBODY } from '../../core/access.js';
import { StudyService, type StudyServiceOptions } from './study-service.js';

it('has the driver look after a retry that failed, since some points may be due', async () => {
  let changes = 0;
  const service = new StudyService({
    studies: {
      find: async () => ({ id: 'study', creator: null }),
      retry: () => Promise.reject(new Error('the database is away')),
    },
    runtime: manualRuntime(),
    refuseNewTasks: () => undefined,
    onChange: () => changes++,
  } as unknown as StudyServiceOptions);
  await expect(service.retry('study', ['CANCELED'], ANYBODY)).rejects.toThrow('the database is away');
  expect(changes).toBe(1);
});
