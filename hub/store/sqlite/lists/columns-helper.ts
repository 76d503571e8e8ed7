/** A thread that holds some of the segments, as the thread of the lists sees it: whatever is asked of it is done in order. */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { COLUMNS_THREAD_LIMITS } from './reader-database.js';
import type { ColumnsFilter, SegmentCount } from './selection.js';
import type { ColumnsHelper } from './shared-columns.js';
import type { TaskKind } from './task-columns.js';

export type ToColumnsHelper =
  | { readonly kind: 'load'; readonly after: number; readonly last: number }
  | { readonly kind: 'update'; readonly seq: number; readonly task: TaskKind | undefined }
  | { readonly kind: 'count'; readonly filter: ColumnsFilter }
  | { readonly kind: 'seqs'; readonly filter: ColumnsFilter; readonly segment: number };

export interface ColumnsHelperData {
  /** The database. */
  readonly file: string;
  readonly port: MessagePort;
  /** Counts the answers; whoever waits for one is woken by it. */
  readonly answers: Int32Array;
}

/** A helper that has not answered by then never will: it has ended. */
const ANSWER_TIMEOUT_MS = 60_000;

export class HelperThread implements ColumnsHelper {
  readonly #port: MessagePort;
  readonly #answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  constructor(file: string) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: ColumnsHelperData = { file, port: port2, answers: this.#answers };
    const url = new URL('./columns-helper-main.js', import.meta.url);
    new Worker(url, {
      workerData,
      transferList: [port2],
      execArgv: [],
      resourceLimits: COLUMNS_THREAD_LIMITS,
    }).unref();
    port1.unref();
  }

  load(after: number, last: number): void {
    this.#send({ kind: 'load', after, last });
  }

  update(seq: number, task: TaskKind | undefined): void {
    this.#send({ kind: 'update', seq, task });
  }

  count(filter: ColumnsFilter): () => SegmentCount[] {
    return this.#ask({ kind: 'count', filter });
  }

  seqs(filter: ColumnsFilter, segment: number): () => number[] {
    return this.#ask({ kind: 'seqs', filter, segment });
  }

  #ask<T>(message: ToColumnsHelper): () => T {
    this.#send(message);
    return () => {
      for (;;) {
        const seen = Atomics.load(this.#answers, 0);
        const answer = receiveMessageOnPort(this.#port) as { message: T } | undefined;
        if (answer) return answer.message;
        if (Atomics.wait(this.#answers, 0, seen, ANSWER_TIMEOUT_MS) === 'timed-out') {
          throw new Error('a thread that helps with lists has ended');
        }
      }
    };
  }

  #send(message: ToColumnsHelper): void {
    this.#port.postMessage(message);
  }
}
