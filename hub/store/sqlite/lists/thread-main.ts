/** The thread of the lists: reads the database over a connection of its own, so that no list holds up the hub. */
import { availableParallelism } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { FairQueue, type WaitingList } from './fair-queue.js';
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
const texts = new SharedTexts({ helpers, startHelper: () => new SearchThread(), clock: systemRuntime.clock });
const reader = new ListReader(db, new TaskColumns(texts), texts);
reader.keepUp(new Float64Array());

/** Resolves when the messages that have arrived were heard. */
const messagesHeard = () => new Promise<void>((resolve) => systemRuntime.timers.soon(resolve));
const turns = new FairQueue(messagesHeard);
/** By call. */
const waiting = new Map<number, WaitingList>();

port.on('message', (message: ToListThread) => {
  if (message.kind === 'abandon') {
    const list = waiting.get(message.call);
    waiting.delete(message.call);
    if (list) turns.remove(list);
    return;
  }
  reader.keepUp(message.changed);
  if (message.kind === 'list') turns.add(waitingList(message));
});

function waitingList({ call, asker, query }: Extract<ToListThread, { kind: 'list' }>): WaitingList {
  const list = reader.begin(query);
  const send = (answer: FromListThread) => {
    waiting.delete(call);
    port?.postMessage(answer);
  };
  const waitingForIt: WaitingList = {
    asker,
    isShort: list.search === undefined,
    turn: () => reader.goOn(list),
    answer: (page) => send({ kind: 'page', call, page }),
    fail: (error) => send({ kind: 'failed', call, error }),
  };
  waiting.set(call, waitingForIt);
  return waitingForIt;
}
