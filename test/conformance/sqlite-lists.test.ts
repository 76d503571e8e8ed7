/** The list thread when its database fails, and the lock that it requires. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openReader } from '@workbench-hub/hub/store/sqlite/lists/reader-database';
import { TaskLists } from '@workbench-hub/hub/store/sqlite/lists/task-lists';
import { openSqliteStore } from '@workbench-hub/hub/store/sqlite/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fillStore } from '../bench/lists/fill-store.js';
import { memoryLog } from '../support/memory-log.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';
import { newTask } from './store-under-test.js';

const EVERYTHING = { page: 0, size: 10, statuses: [] };

let folder: TemporaryFolder;
let file: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'hub.sqlite');
});
afterEach(() => folder.remove());

const open = () => openSqliteStore(file, systemRuntime.timers, memoryLog().log);

describe('the list thread', () => {
  it('reports failed reads, and is restarted for the next list', async () => {
    const { log, lines } = memoryLog();
    const lists = new TaskLists({ file, log });
    await expect(lists.list(EVERYTHING)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(lines).toMatchObject([{ msg: 'the list of tasks could not be read' }]);
    const store = open();
    await store.queue.insert([newTask({ name: 'n' })]);
    await store.archive.list(EVERYTHING);
    expect(await lists.list(EVERYTHING)).toMatchObject({ tasks: [{ name: 'n' }], totalElements: 1 });
    await lists.close();
    await store.close();
  });

  it('answers requests while the store closes', async () => {
    const store = open();
    const list = store.archive.list(EVERYTHING);
    const refused = expect(list).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();
    await refused;
    await expect(store.archive.list(EVERYTHING)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('refuses a list that is under way when it closes, without a line in the log', async () => {
    const store = open();
    const { log, lines } = memoryLog();
    const lists = new TaskLists({ file, log });
    const refused = expect(lists.list(EVERYTHING)).rejects.toMatchObject({
      ...{ code: 'STORE_UNAVAILABLE', message: 'the hub stops' },
    });
    // The thread has been asked, and cannot answer while this turn lasts.
    await Promise.resolve();
    await lists.close();
    await refused;
    expect(lines).toEqual([]);
    await store.close();
  });

  it('answers each list once, and rests', async () => {
    const store = open();
    await store.queue.insert([newTask()]);
    await store.archive.list(EVERYTHING);
    const main = new URL(import.meta.resolve('@workbench-hub/hub/store/sqlite/lists/thread-main'));
    const thread = new Worker(main, { workerData: { file }, execArgv: [] });
    const answered: [kind: string, call: number][] = [];
    thread.on('message', ({ kind, call }) => answered.push([kind, call]));
    for (const call of [1, 2]) {
      thread.postMessage({ kind: 'list', call, query: EVERYTHING, changed: [] });
      while (answered.at(-1)?.[1] !== call) await once(thread, 'message');
    }
    expect(answered).toEqual([
      ['page', 1],
      ['page', 2],
    ]);
    await thread.terminate();
    await store.close();
  });

  it('leaves no file of its connection behind', async () => {
    const store = open();
    await store.queue.insert([newTask()]);
    await store.archive.list(EVERYTHING);
    await store.close();
    expect(existsSync(`${file}-wal`)).toBe(false);
    expect(existsSync(`${file}-shm`)).toBe(false);
  });
});

describe('a store of many chunks', () => {
  it('lists the same as SQL, also when tasks are added, changed and removed meanwhile', async () => {
    fillStore(file, { ended: 60_000, running: 8, waiting: 10_000 }, 1).close();
    const db = openReader(file);
    const expected = (where: string) =>
      db.prepare<[], string>(`SELECT id FROM task WHERE ${where} ORDER BY seq DESC`).pluck().all();
    const store = open();
    const listed = async (query: object, page = 0) => {
      const { tasks, totalElements } = await store.archive.list({ page, size: 7, statuses: [], ...query });
      return { ids: tasks.map(({ id }) => id), totalElements };
    };
    const expectSame = async (query: object, where: string) => {
      const all = expected(where);
      for (const page of [0, 1, Math.floor(all.length / 14), Math.floor((all.length - 1) / 7)]) {
        const ids = all.slice(page * 7, page * 7 + 7);
        expect(await listed(query, page), `${where}, page ${page}`).toEqual({
          ids,
          totalElements: all.length,
        });
      }
    };
    try {
      await expectSame({}, '1');
      await expectSame({ statuses: ['WAITING'] }, "status = 'WAITING'");
      await expectSame({ name: '*9*9*' }, "name GLOB '*9*9*'");
      await expectSame(
        { statuses: ['FAILED', 'CANCELED'], id: '*0a*' },
        "status IN ('FAILED', 'CANCELED') AND id GLOB '*0a*'",
      );
      await expectSame({ creator: 'user?7' }, "creator GLOB 'user?7'");
      await expectSame({ name: 'GEAR STUDY*a?c*' }, "name GLOB 'Gear study*a?c*'");
      await expectSame(
        { id: '*-7*b*-8*', name: '*study*7', creator: 'user*', type: 'SIMULATE_WORK', priority: 'NORMAL' },
        "id GLOB '*-7*b*-8*' AND name GLOB '*study*7' AND creator GLOB 'user*' AND type = 'SIMULATE_WORK' AND priority = 2",
      );

      const waiting = expected("status = 'WAITING'");
      const ended = expected("status = 'FINISHED'");
      const added = Array.from({ length: 5000 }, () => newTask({ name: 'new 9 9' }));
      await store.queue.insert(added);
      await store.queue.cancel([waiting[0], waiting.at(-1)] as string[], ['WAITING'], 1);
      await store.archive.remove([ended[0], ended[20_000], ended.at(-1)] as string[]);
      await expectSame({}, '1');
      await expectSame({ statuses: ['WAITING'] }, "status = 'WAITING'");
      await expectSame({ statuses: ['CANCELED'] }, "status = 'CANCELED'");
      await expectSame({ name: '*9*9*' }, "name GLOB '*9*9*'");
      await expectSame({ name: '*9*9*', statuses: ['WAITING'] }, "name GLOB '*9*9*' AND status = 'WAITING'");
    } finally {
      await store.close();
      db.close();
    }
  });
});

describe('the lock of the store', () => {
  it('excludes other processes while the thread reads, until the process is killed', async () => {
    const store = new URL(import.meta.resolve('@workbench-hub/hub/store/sqlite/store')).href;
    const script = `
      const { openSqliteStore } = await import(${JSON.stringify(store)});
      const log = { info() {}, error() {} };
      const { archive } = openSqliteStore(${JSON.stringify(file)}, { soon: setImmediate }, log);
      await archive.list(${JSON.stringify(EVERYTHING)});
      console.log('listed');
      setInterval(() => undefined, 1000);`;
    const other = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(other.stdout, 'data');
      expect(open).toThrow(`the database ${file} is in use: another hub runs with the same dataDir`);
    } finally {
      other.kill('SIGKILL');
      await once(other, 'close');
    }
    await open().close();
  });
});
