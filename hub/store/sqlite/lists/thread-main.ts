/** The thread of the lists: reads the database over a connection of its own, so that no list holds up the hub. */
import { availableParallelism } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { ListReader } from './list-reader.js';
import { openReader } from './reader-database.js';
import { SearchThread } from './search-helper.js';
import { SharedTexts } from './shared-texts.js';
import { TaskColumns } from './task-columns.js';
import type { FromListThread, ListThreadData, ToListThread } from './thread-messages.js';

/** More threads than this gain little and cost memory each. */
const MAX_HELPERS = 3;

const port = parentPort;
if (!port) throw new Error('thread-main.js is started by the store as a thread');
const { file } = workerData as ListThreadData;
const db = openReader(file);
const helpers = Math.min(availableParallelism() - 1, MAX_HELPERS);
const texts = new SharedTexts({ helpers, startHelper: () => new SearchThread() });
const reader = new ListReader(db, new TaskColumns(texts));
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
