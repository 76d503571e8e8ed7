/** The list thread, which reads the database over its own connection so that no list delays the hub. */
import { availableParallelism } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { ListColumns } from '@workbench-hub/list-columns/list-columns';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { FairQueue, type WaitingList } from './fair-queue.js';
import { ListReader } from './list-reader.js';
import { openReader } from './reader-database.js';
import type { FromListThread, ListThreadData, ToListThread } from './thread-messages.js';

/** Further threads gain little, and each costs memory. */
const MAX_HELPERS = 3;

const port = parentPort;
if (!port) throw new Error('thread-main.js is started by the store as a thread');
const { file } = workerData as ListThreadData;
const db = openReader(file);
const helpers = Math.min(availableParallelism() - 1, MAX_HELPERS);
const reader = new ListReader(db, new ListColumns({ helpers, clock: systemRuntime.clock }));
reader.keepUp(new Float64Array());

/** Resolves when the messages that have arrived were handled. */
const messagesHandled = () => new Promise<void>((resolve) => systemRuntime.timers.soon(resolve));
const turns = new FairQueue(messagesHandled);
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

function waitingList({ call, client, query }: Extract<ToListThread, { kind: 'list' }>): WaitingList {
  const list = reader.begin(query);
  const send = (response: FromListThread) => {
    waiting.delete(call);
    port?.postMessage(response);
  };
  const waitingForIt: WaitingList = {
    client,
    isShort: list.search === undefined,
    turn: () => reader.goOn(list),
    answer: (page) => send({ kind: 'page', call, page }),
    fail: (error) => send({ kind: 'failed', call, error }),
  };
  waiting.set(call, waitingForIt);
  return waitingForIt;
}
