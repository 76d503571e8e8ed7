import { HubError } from '@workbench-hub/client';
import { expect, it, vi } from 'vitest';

vi.mock('../../data/hub.js', () => ({ session: {}, hub: {} }));
const { FileGone, SessionOver } = await import('./send-file.js');
const { isStorageName, storageNameFor, Uploads } = await import('./uploads.js');
const { UnfinishedUploads } = await import('./unfinished-uploads.js');

type Send = ConstructorParameters<typeof Uploads>[0];

function refusal(status: number, code: string, message: string): HubError {
  return new HubError(message, { status, headers: new Headers({ 'x-error-code': code }) });
}

const file = (name: string) => new File(['content'], name);

async function uploadsBy(send: Send) {
  const stored = vi.fn();
  const uploads = new Uploads(send, stored);
  return { uploads, stored, statuses: () => uploads.state.get().map(({ status }) => status) };
}

it('sends one file after the other, and tells of each that is stored', async () => {
  const sent: string[] = [];
  const { uploads, stored, statuses } = await uploadsBy(async (_, { name, onProgress }) => {
    onProgress(3);
    sent.push(name);
  });
  uploads.add([file('a-1.csv'), file('b-2.csv')], false);
  await expect.poll(statuses).toEqual(['done', 'done']);
  expect(sent).toEqual(['a-1.csv', 'b-2.csv']);
  expect(stored).toHaveBeenCalledTimes(2);
});

it('asks for another name before it sends a file that the storage would refuse', async () => {
  const sent: string[] = [];
  const { uploads, statuses } = await uploadsBy(async (_, { name }) => void sent.push(name));
  uploads.add([file('größe 1.csv')], false);
  expect(statuses()).toEqual(['name']);
  uploads.again(1, { name: 'size.csv' });
  await expect.poll(statuses).toEqual(['done']);
  expect(sent).toEqual(['size.csv']);
});

it('says that the name is taken, and replaces the file when told to', async () => {
  const { uploads, statuses } = await uploadsBy(async (_, { overwrite }) => {
    if (!overwrite) throw refusal(409, 'STORED_FILE_EXISTS', 'exists');
  });
  uploads.add([file('same.csv')], true);
  await expect.poll(statuses).toEqual(['exists']);
  uploads.again(1, { overwrite: true });
  await expect.poll(statuses).toEqual(['done']);
});

it('cancels what is being sent and what waits', async () => {
  const { uploads, statuses } = await uploadsBy(
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      }),
  );
  uploads.add([file('one.csv'), file('two.csv')], false);
  uploads.cancel(2);
  uploads.cancel(1);
  await expect.poll(statuses).toEqual(['canceled', 'canceled']);
  uploads.clear();
  expect(uploads.state.get()).toEqual([]);
});

it('ends them with the session: none is sent any more, and none is shown', async () => {
  const sent: string[] = [];
  const reasons: unknown[] = [];
  const { uploads, stored } = await uploadsBy(
    (_, { name, signal }) =>
      new Promise((resolve, reject) => {
        sent.push(name);
        if (name === 'of-another.csv') resolve();
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          reject(signal.reason);
        });
      }),
  );
  uploads.add([file('one.csv'), file('two.csv')], false);
  uploads.giveUp();
  expect(uploads.state.get()).toEqual([]);
  await expect.poll(() => reasons).toEqual([expect.any(SessionOver)]);
  uploads.add([file('of-another.csv')], false);
  await expect.poll(() => stored.mock.calls).toHaveLength(1);
  expect(sent).toEqual(['one.csv', 'of-another.csv']);
});

it('tells a refusal from a file that is gone', async () => {
  const faults = [new FileGone('one.csv'), refusal(413, 'QUOTA_EXCEEDED', 'the file is too large')];
  const { uploads, statuses } = await uploadsBy(async () => {
    throw faults.shift();
  });
  uploads.add([file('one.csv'), file('two.csv')], false);
  await expect.poll(statuses).toEqual(['gone', 'failed']);
  expect(uploads.state.get()[1]).toMatchObject({
    fault: { message: 'the file is too large', code: 'QUOTA_EXCEEDED' },
  });
});

it('shows why it waits, and that it goes on', async () => {
  let goOn: () => void = () => undefined;
  const { uploads, statuses } = await uploadsBy(async (_, { onPause, onProgress }) => {
    onPause('away');
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    onProgress(3);
  });
  uploads.add([file('one.csv')], false);
  await expect.poll(() => uploads.state.get()[0]).toMatchObject({ status: 'paused', pausedBy: 'away' });
  goOn();
  await expect.poll(statuses).toEqual(['done']);
});

it('knows an unfinished upload by all of its file', () => {
  const items = new Map<string, string>();
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
  const unfinished = new UnfinishedUploads(() => storage);
  const key = { name: 'a.bin', size: 3, lastModified: 7, overwrite: false, encrypt: false };
  unfinished.keep(key, 'id-1');
  expect(unfinished.idOf(key)).toBe('id-1');
  for (const other of [
    { size: 4 },
    { lastModified: 8 },
    { overwrite: true },
    { encrypt: true },
    { name: 'b' },
  ])
    expect(unfinished.idOf({ ...key, ...other })).toBeUndefined();
  unfinished.forget(key);
  expect(unfinished.ids()).toEqual([]);
  items.set('workbench-uploads', '{"damaged":');
  expect(unfinished.idOf(key)).toBeUndefined();
});

it('makes a name that the storage takes of any other', () => {
  for (const name of ['größe 1.csv', '../../x', 'ab', '', `${'long'.repeat(40)}.stl`, '.hidden', '数据.csv'])
    expect(storageNameFor(name), name).toSatisfy(isStorageName);
  expect(storageNameFor('mesh v2.stl')).toBe('mesh-v2.stl');
  expect(storageNameFor(`${'long'.repeat(40)}.stl`)).toMatch(/\.stl$/);
});
