import { expect, it, vi } from 'vitest';

vi.mock('../../data/hub.js', () => ({ session: {} }));
const { SendFault } = await import('./send-file.js');
const { isStorageName, storageNameFor, Uploads } = await import('./uploads.js');

type Send = ConstructorParameters<typeof Uploads>[0];

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
  await vi.waitFor(() => expect(statuses()).toEqual(['done', 'done']));
  expect(sent).toEqual(['a-1.csv', 'b-2.csv']);
  expect(stored).toHaveBeenCalledTimes(2);
});

it('asks for another name before it sends a file that the storage would refuse', async () => {
  const sent: string[] = [];
  const { uploads, statuses } = await uploadsBy(async (_, { name }) => void sent.push(name));
  uploads.add([file('größe 1.csv')], false);
  expect(statuses()).toEqual(['name']);
  uploads.again(1, { name: 'size.csv' });
  await vi.waitFor(() => expect(statuses()).toEqual(['done']));
  expect(sent).toEqual(['size.csv']);
});

it('says that the name is taken, and replaces the file when told to', async () => {
  const { uploads, statuses } = await uploadsBy(async (_, { overwrite }) => {
    if (!overwrite) throw new SendFault(409, 'exists');
  });
  uploads.add([file('same.csv')], true);
  await vi.waitFor(() => expect(statuses()).toEqual(['exists']));
  uploads.again(1, { overwrite: true });
  await vi.waitFor(() => expect(statuses()).toEqual(['done']));
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
  await vi.waitFor(() => expect(statuses()).toEqual(['canceled', 'canceled']));
  uploads.clear();
  expect(uploads.state.get()).toEqual([]);
});

it('tells a broken connection from a refusal', async () => {
  const faults = [new SendFault(0, ''), new SendFault(413, 'the file is too large')];
  const { uploads, statuses } = await uploadsBy(async () => {
    throw faults.shift();
  });
  uploads.add([file('one.csv'), file('two.csv')], false);
  await vi.waitFor(() => expect(statuses()).toEqual(['broken', 'failed']));
  expect(uploads.state.get()[1]?.fault).toBe('the file is too large');
});

it('makes a name that the storage takes of any other', () => {
  for (const name of ['größe 1.csv', '../../x', 'ab', '', `${'long'.repeat(40)}.stl`, '.hidden', '数据.csv'])
    expect(storageNameFor(name), name).toSatisfy(isStorageName);
  expect(storageNameFor('mesh v2.stl')).toBe('mesh-v2.stl');
  expect(storageNameFor(`${'long'.repeat(40)}.stl`)).toMatch(/\.stl$/);
});
