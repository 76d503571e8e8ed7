/** A thread that holds some of the segments of the lists. */
import { workerData } from 'node:worker_threads';
import type { ColumnsHelperData, ToColumnsHelper } from './columns-helper.js';
import { openReader } from './reader-database.js';
import { SegmentRows } from './segment-rows.js';
import { TaskColumns } from './task-columns.js';

const { file, port, answers } = workerData as ColumnsHelperData;
const rows = new SegmentRows(openReader(file));
const columns = new TaskColumns();

const answer = (message: unknown): void => {
  port.postMessage(message);
  Atomics.add(answers, 0, 1);
  Atomics.notify(answers, 0);
};

port.on('message', (message: ToColumnsHelper) => {
  switch (message.kind) {
    case 'load':
      for (const row of rows.between(message.after, message.last)) columns.add(row);
      return;
    case 'update':
      return void columns.update(message.seq, message.task);
    case 'count':
      return answer(columns.counts(message.filter));
    case 'seqs':
      return answer(columns.seqs(message.filter, message.segment));
  }
});
