/** The list thread, which reads the database over its own connection so that no list delays the hub. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { type ListInProgress, ListReader } from './list-reader.js';
import { openReader } from './reader-database.js';
import type { FromListThread, ListThreadData, ToListThread } from './thread-messages.js';

const port = parentPort;
if (!port) throw new Error('thread-main.js is started by the store as a thread');
const { file } = workerData as ListThreadData;
const reader = new ListReader(openReader(file), systemRuntime.clock);
/** Lists in progress, by call. */
const lists = new Map<number, ListInProgress>();
let isWorking = false;

port.on('message', (message: ToListThread) => {
  if (message.kind === 'abandon') return void lists.delete(message.call);
  reader.forget(message.changed);
  answering(message.call, () => void lists.set(message.call, reader.begin(message.query)));
  if (!isWorking) work();
});

/** Gives each list in progress a turn; messages that have arrived come before the next turns. */
function work(): void {
  for (const [call, list] of lists) {
    answering(call, () => {
      const page = reader.goOn(list);
      if (page) send({ kind: 'page', call, page });
    });
  }
  isWorking = lists.size > 0;
  if (isWorking) systemRuntime.timers.soon(work);
}

function answering(call: number, step: () => void): void {
  try {
    step();
  } catch (error) {
    send({ kind: 'failed', call, error });
  }
}

function send(response: FromListThread): void {
  lists.delete(response.call);
  port?.postMessage(response);
}
