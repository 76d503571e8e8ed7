/** The thread of the lists: reads the database over a connection of its own, so that no list holds up the hub. */
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { ListReader } from './list-reader.js';
import type { FromListThread, ListThreadData, ToListThread } from './thread-messages.js';

/** The database may be held for a moment by a checkpoint. */
const BUSY_TIMEOUT_MS = 10_000;

const port = parentPort;
if (!port) throw new Error('thread-main.js is started by the store as a thread');
const { file } = workerData as ListThreadData;
const reader = new ListReader(new Database(file, { readonly: true, timeout: BUSY_TIMEOUT_MS }));
reader.keepUp(new Float64Array());

port.on('message', (message: ToListThread) => {
  reader.keepUp(message.changed);
  if (message.kind === 'list') port.postMessage(answer(message));
});

function answer({ call, query }: Extract<ToListThread, { kind: 'list' }>): FromListThread {
  try {
    return { kind: 'page', call, page: reader.list(query) };
  } catch (error) {
    return { kind: 'failed', call, error };
  }
}
