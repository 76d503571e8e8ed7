/** The searching thread's side in the thread that started it. */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { buffersOf, type RowBits, type SegmentTexts, type TextFilter } from './segment-texts.js';
import type { SearchHelper } from './shared-texts.js';
import { COLUMNS_THREAD_LIMITS } from './thread-limits.js';

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
}

export class SearchThread implements SearchHelper {
  readonly #port: MessagePort;
  /** Pending searches by call. */
  readonly #waiting = new Map<number, (found: readonly RowBits[]) => void>();
  #latestCall = 0;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: SearchHelperData = { port: port2 };
    const url = new URL('./search-helper-main.js', import.meta.url);
    const thread = new Worker(url, {
      workerData,
      transferList: [port2],
      execArgv: [],
      resourceLimits: COLUMNS_THREAD_LIMITS,
    });
    thread.unref();
    // Its texts are lost, so the thread that started it must end as well.
    thread.on('error', (error) => {
      throw error;
    });
    port1.on('message', ({ call, found }: FromSearchHelper) => {
      this.#waiting.get(call)?.(found);
      this.#waiting.delete(call);
    });
    port1.unref();
  }

  hold(segment: number, texts: SegmentTexts): void {
    this.#send({ kind: 'hold', segment, texts }, buffersOf(texts));
  }

  forget(segment: number): void {
    this.#send({ kind: 'forget', segment });
  }

  search(filter: TextFilter, segments: readonly number[]): Promise<readonly RowBits[]> {
    const call = ++this.#latestCall;
    this.#send({ kind: 'search', call, filter, segments });
    return new Promise((resolve) => this.#waiting.set(call, resolve));
  }

  #send(message: ToSearchHelper, transferred: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transferred);
  }
}
