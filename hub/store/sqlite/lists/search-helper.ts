/** A thread that searches the texts of some of the segments, as the thread of the lists sees it. */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { COLUMNS_THREAD_LIMITS } from './reader-database.js';
import { buffersOf, type RowBits, type SegmentTexts, type TextFilter } from './segment-texts.js';
import type { SearchHelper } from './shared-texts.js';

export type ToSearchHelper =
  | { readonly kind: 'hold'; readonly segment: number; readonly texts: SegmentTexts }
  | { readonly kind: 'forget'; readonly segment: number }
  | {
      readonly kind: 'search';
      readonly call: number;
      readonly filter: TextFilter;
      readonly segments: readonly number[];
    };

export interface FromSearchHelper {
  readonly call: number;
  readonly found: readonly RowBits[];
}

export interface SearchHelperData {
  readonly port: MessagePort;
  /** Counts the answers; whoever waits for one is woken by it. */
  readonly answers: Int32Array;
}

/** A helper that has not answered by then never will: it has ended. */
const ANSWER_TIMEOUT_MS = 60_000;

export class SearchThread implements SearchHelper {
  readonly #port: MessagePort;
  readonly #answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #latestCall = 0;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: SearchHelperData = { port: port2, answers: this.#answers };
    const url = new URL('./search-helper-main.js', import.meta.url);
    new Worker(url, {
      workerData,
      transferList: [port2],
      execArgv: [],
      resourceLimits: COLUMNS_THREAD_LIMITS,
    }).unref();
    port1.unref();
  }

  hold(segment: number, texts: SegmentTexts): void {
    this.#send({ kind: 'hold', segment, texts }, buffersOf(texts));
  }

  forget(segment: number): void {
    this.#send({ kind: 'forget', segment });
  }

  search(filter: TextFilter, segments: readonly number[]): () => readonly RowBits[] {
    const call = ++this.#latestCall;
    this.#send({ kind: 'search', call, filter, segments });
    return () => {
      for (;;) {
        const seen = Atomics.load(this.#answers, 0);
        const answer = receiveMessageOnPort(this.#port) as { message: FromSearchHelper } | undefined;
        // Nobody waits any more for that of an earlier search.
        if (answer?.message.call === call) return answer.message.found;
        if (answer === undefined && Atomics.wait(this.#answers, 0, seen, ANSWER_TIMEOUT_MS) === 'timed-out') {
          throw new Error('a thread that helps with lists has ended');
        }
      }
    };
  }

  #send(message: ToSearchHelper, transferred: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transferred);
  }
}
