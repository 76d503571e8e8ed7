import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf, fileOf, newTask, type OpenStore, type StoreUnderTest } from './store-under-test.js';

/** Agents, and small contents beside the tasks. */
export function describeRememberedThings(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const agent = (id: string, rest: object = {}) => ({
    id,
    version: '0.1.0',
    revision: 'abc',
    seenAtMs: 5,
    clockOffsetMs: null,
    instances: [{ id: `${id}-sim`, version: '9', revision: '1', labels: ['gears', 'ü'] }],
    ...rest,
  });

  describe('agents', () => {
    it('are remembered by id, over a restart', async () => {
      const installation = { kind: 'DEBIAN', os: 'linux', arch: null };
      await store.agents.save(agent('b', { installation }));
      await store.agents.save(agent('a', { instances: [] }));
      store = await store.reopen();
      expect(await store.agents.all()).toEqual([agent('a', { instances: [] }), agent('b', { installation })]);
    });

    it('are replaced by later records, and can be forgotten', async () => {
      await store.agents.save(agent('a'));
      await store.agents.save(agent('a', { seenAtMs: 9, clockOffsetMs: -7, version: '0.2.0' }));
      expect(await store.agents.all()).toEqual([
        agent('a', { seenAtMs: 9, clockOffsetMs: -7, version: '0.2.0' }),
      ]);
      await store.agents.forget('a');
      await store.agents.forget('nobody');
      expect(await store.agents.all()).toEqual([]);
    });
  });

  describe('inline blobs', () => {
    const put = (text: string, storedAtMs = 5) =>
      store.inlineBlobs.put(digestOf(text), Buffer.from(text), storedAtMs);
    const text = async (of: string) => (await store.inlineBlobs.find(digestOf(of)))?.toString();

    it('are stored unchanged, over a restart', async () => {
      await put('hello');
      await store.inlineBlobs.put(digestOf('none'), Buffer.alloc(0), 5);
      const bytes = Buffer.from([0, 255, 128, 10]);
      await store.inlineBlobs.put(digestOf('bytes'), bytes, 5);
      await store.queue.insert([newTask()]);
      store = await store.reopen();
      expect(await text('hello')).toBe('hello');
      expect(await text('none')).toBe('');
      expect(await store.inlineBlobs.find(digestOf('bytes'))).toEqual(bytes);
      expect(await store.inlineBlobs.find(digestOf('never'))).toBeUndefined();
    });

    it('are recent within a minute of their storing, whatever the clock does', async () => {
      await put('hello', 100_000);
      const isRecent = (nowMs: number) => store.inlineBlobs.isRecent(digestOf('hello'), nowMs);
      expect([40_000, 40_001, 159_999, 160_000].map(isRecent)).toEqual([false, true, true, false]);
      await put('hello', 160_000);
      expect(isRecent(160_000)).toBe(true);
      expect(store.inlineBlobs.isRecent(digestOf('never'), 5)).toBe(false);
    });

    it('are swept when they are old and no task refers to them', async () => {
      await put('old', 10);
      await put('old and named', 10);
      await put('young', 20);
      await put('used again', 10);
      await put('used again', 20);
      await store.queue.insert([
        newTask({
          job: {
            type: 'EXECUTE_BATCH_JOB',
            model: null,
            scripts: [fileOf('old and named')],
            additionalFiles: [],
            variables: [],
          },
        }),
      ]);
      expect(await store.inlineBlobs.sweep(10, 1000, () => false)).toBe(0);
      expect(await store.inlineBlobs.sweep(20, 1000, () => false)).toBe(1);
      expect(await text('old')).toBeUndefined();
      expect([await text('old and named'), await text('young'), await text('used again')]).toEqual([
        'old and named',
        'young',
        'used again',
      ]);
    });

    it('are swept in any number', async () => {
      await Promise.all(Array.from({ length: 1201 }, (_, at) => put(`n${at}`)));
      expect(await store.inlineBlobs.sweep(6, 1000, () => false)).toBe(1201);
      expect(await text('n0')).toBeUndefined();
    });

    it('are referenced by the inputs of tasks', async () => {
      const [model, script, file, other] = ['model', 'script', 'file', 'other'].map(digestOf);
      await store.queue.insert([
        newTask({
          job: {
            type: 'EXECUTE_BATCH_JOB',
            model: { kind: 'BLOB', path: 'model.x', ...fileOf('model') },
            scripts: [fileOf('script'), fileOf('script')],
            additionalFiles: [{ path: 'a', ...fileOf('file') }],
            variables: [],
          },
        }),
      ]);
      const all = [model, script, file, other].map(String);
      expect(await store.inlineBlobs.referenced(all, false)).toEqual(new Set([model, script, file]));
      expect(await store.inlineBlobs.referenced([], false)).toEqual(new Set());
    });
  });
}
