/**
 * Values of studies. Small contents are read at once in the calling thread, as most outputs from which studies read values are small;
 * others by a process of its own: one that is slow, or out of memory, stops neither the hub nor other values.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../core/errors.js';
import type { OutputValues } from '../core/ports/output-values.js';
import { missing, type ReadValue, sourceName } from '../core/studies/values/read-value.js';
import type { ValueRule } from '../core/studies/values/value-rules.js';
import { jsonPathFault } from './json-paths.js';
import { patternCost } from './pattern-cost.js';
import { patternFault } from './patterns.js';
import { readValues } from './read-values.js';
import { type ReadResponse, STOP_SIGNALS } from './reader-messages.js';
import { type ReaderEnd, ReaderProcess } from './reader-process.js';

/** Time for the rules about one content. */
const TIMEOUT_MS = 10_000;
/** Time without work after which the process ends. */
const IDLE_MS = 60_000;
/** Memory of a table of three million cells, 32 MiB of text, with some room. */
const MEMORY_MIB = 512;
/** Size up to which a content may be read in the calling thread. */
const MAX_SMALL_BYTES = 16 * 1024;
/** Instructions of its rules, times its bytes: at worst some 20 ms, as a pattern may look at a content three times. */
const MAX_SMALL_STEPS = 300_000;
/** Instructions of a pattern that takes as long as a column or a path at worst. */
const INSTRUCTIONS_OF_OTHERS = 10;
/** Smaller contents count as this many bytes, since each rule has a cost of its own. */
const LEAST_BYTES = 1000;
/** Part of a JSON path whose time also grows with what the path has found: a search in all depths, or a filter. */
const SEARCH_OR_FILTER = /\.\.|\?/;
/** Flags within a pattern: without regard to case, classes of characters are computed, which takes long. */
const FLAGS = /\(\?[a-zA-Z-]+[:)]/;

export interface ValueReaderOptions {
  readonly timers: Pick<Timers, 'after'>;
  readonly log: Logger;
  /** Main module of the process; another one in tests, where it is not beside this file. */
  readonly program?: URL;
  readonly timeoutMs?: number;
  readonly memoryMiB?: number;
  /** Size of a content that is read in the calling thread; zero in tests of the process. */
  readonly maxSmallBytes?: number;
}

export interface ValueReader extends OutputValues {
  /** Ends the process; what waits for values rejects with `STORE_UNAVAILABLE`. */
  close(): Promise<void>;
}

/** Reader of values. Its process starts with the first content that is not small, and ends after a minute without one. */
export function openValueReader(options: ValueReaderOptions): ValueReader {
  const reading = new Reading(options);
  return {
    jsonPathFault,
    patternFault,
    readValues: (rules, content) => reading.read(rules, content),
    close: () => reading.close(),
  };
}

/** Contents that are read one after the other. */
class Reading {
  readonly #timers: Pick<Timers, 'after'>;
  readonly #log: Logger;
  readonly #timeoutMs: number;
  readonly #maxSmallBytes: number;
  readonly #start: () => ReaderProcess;
  #process: ReaderProcess | undefined;
  #idle: Timer | undefined;
  /** Settled when all that was asked for so far is read. */
  #previous: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor({
    timers,
    log,
    program = new URL('./reader-main.js', import.meta.url),
    timeoutMs = TIMEOUT_MS,
    memoryMiB = MEMORY_MIB,
    maxSmallBytes = MAX_SMALL_BYTES,
  }: ValueReaderOptions) {
    this.#timers = timers;
    this.#log = log;
    this.#timeoutMs = timeoutMs;
    this.#maxSmallBytes = maxSmallBytes;
    this.#start = () => new ReaderProcess(program, memoryMiB);
  }

  /** The process that reads, started if there is none. */
  #running(): ReaderProcess {
    if (this.#process) return this.#process;
    const started = this.#start();
    this.#process = started;
    void started.ended.then(() => this.#forget(started));
    return started;
  }

  #forget(ended: ReaderProcess): void {
    if (this.#process === ended) this.#process = undefined;
  }

  async read(rules: readonly ValueRule[], content: Uint8Array): Promise<readonly ReadValue[]> {
    this.#unlessClosed();
    if (content.length <= this.#maxSmallBytes && stepsOf(rules, content) <= MAX_SMALL_STEPS) {
      return this.#readHere(rules, content);
    }
    const read = this.#previous.then(() => this.#readNow(rules, content));
    this.#previous = read.catch(() => undefined);
    return read;
  }

  #readHere(rules: readonly ValueRule[], content: Uint8Array): readonly ReadValue[] {
    try {
      return readValues(rules, content);
    } catch (error) {
      const reason = this.#reasonOf({ kind: 'failed', stack: String((error as Error).stack) });
      return rules.map(() => missing(reason));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idle?.cancel();
    await this.#process?.end();
    await this.#previous;
  }

  async #readNow(rules: readonly ValueRule[], content: Uint8Array): Promise<readonly ReadValue[]> {
    this.#unlessClosed();
    if (rules.length === 0) return [];
    this.#idle?.cancel();
    const reader = this.#running();
    let isLate = false;
    const deadline = this.#timers.after(this.#timeoutMs, () => {
      isLate = true;
      this.#end(reader);
    });
    const response = await reader.read(rules, content);
    deadline.cancel();
    // A missing value is stored: neither the end of the hub nor a process that others end is a reason for one.
    this.#unlessClosed();
    if (response.kind === 'ended') throwIfUnfinished(response);
    if (response.kind !== 'ended') this.#idle = this.#timers.after(IDLE_MS, () => this.#end(reader));
    if (response.kind === 'values') return response.values;
    const reason = isLate ? `reading took longer than ${this.#timeoutMs / 1000} s` : this.#reasonOf(response);
    const source = rules[0] && sourceName(rules[0].source);
    this.#log.warn(
      { source, rules: rules.length, sizeBytes: content.length },
      `values are missing: ${reason}`,
    );
    return rules.map(() => missing(reason));
  }

  #reasonOf(response: Exclude<ReadResponse, { kind: 'values' }> | ReaderEnd): string {
    // V8 aborts when it is out of memory, and so does the system with a process that takes too much.
    if (response.kind === 'ended' && (response.signal !== null || response.exitCode === 134)) {
      return 'reading took too much memory';
    }
    const { kind, ...facts } = response;
    this.#log.error(facts, `the reader of values has ${kind}`);
    return 'reading failed; the log of the hub says why';
  }

  #unlessClosed(): void {
    if (this.#isClosed) throw new HubError('STORE_UNAVAILABLE', 'the hub stops');
  }

  /** Ends a process; the next content gets a new one. */
  #end(reader: ReaderProcess): void {
    this.#forget(reader);
    void reader.end();
  }
}

/** Steps of the rules in a content, as those of patterns are counted; infinite if they do not follow from its size. */
function stepsOf(rules: readonly ValueRule[], { length }: Uint8Array): number {
  const instructions = rules.reduce((sum, { reader }) => sum + instructionsOf(reader), 0);
  return instructions * Math.max(length, LEAST_BYTES);
}

function instructionsOf(reader: ValueRule['reader']): number {
  if (reader.kind === 'CSV') return INSTRUCTIONS_OF_OTHERS;
  if (reader.kind === 'JSON_PATH')
    return SEARCH_OR_FILTER.test(reader.path) ? Number.POSITIVE_INFINITY : INSTRUCTIONS_OF_OTHERS;
  const { instructions, unicodeClasses } = patternCost(reader.pattern);
  return unicodeClasses > 0 || FLAGS.test(reader.pattern) ? Number.POSITIVE_INFINITY : instructions;
}

/** Throws for a process that could not be started, or was asked to end from outside before it could read. */
function throwIfUnfinished({ err, signal }: ReaderEnd): void {
  if (err !== undefined) throw err;
  if (signal !== null && STOP_SIGNALS.includes(signal)) {
    throw new Error(`the process that reads values was ended by ${signal}`);
  }
}
