/** A process that reads values, one content at a time, with a limit of memory. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ValueRule } from '../core/studies/values/value-rules.js';
import type { ReadRequest, ReadResponse } from './reader-messages.js';

/** End of a process; `err` when it could not be started. */
export interface ReaderEnd {
  readonly kind: 'ended';
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly err?: unknown;
}

export class ReaderProcess {
  /** Resolves when it has ended. */
  readonly ended: Promise<ReaderEnd>;
  readonly #child: ChildProcess;

  /** Starts a process whose objects take at most `memoryMiB`. */
  constructor(program: URL, memoryMiB: number) {
    // Its error output would be the trace of an engine out of memory.
    this.#child = fork(program, {
      execArgv: [`--max-old-space-size=${memoryMiB}`],
      stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
      // JSON has no NaN and no infinities.
      serialization: 'advanced',
    });
    // A process that ends is seen by its end, not by what could not be written to it.
    this.#child.stdin?.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      this.#child.on('exit', (exitCode, signal) => resolve({ kind: 'ended', exitCode, signal }));
      this.#child.on('error', (err) => resolve({ kind: 'ended', exitCode: null, signal: null, err }));
    });
    this.#keepsHubAlive(false);
  }

  /** Response to one request, or the end of the process. Never rejects. */
  async read(rules: readonly ValueRule[], content: Uint8Array): Promise<ReadResponse | ReaderEnd> {
    const listening = new AbortController();
    const answered = once(this.#child, 'message', listening).then(([response]) => response as ReadResponse);
    answered.catch(() => undefined);
    this.#keepsHubAlive(true);
    this.#child.send({ rules, sizeBytes: content.length } satisfies ReadRequest, () => undefined);
    this.#child.stdin?.write(content);
    try {
      return await Promise.race([answered, this.ended]);
    } finally {
      listening.abort();
      this.#keepsHubAlive(false);
    }
  }

  /** Ends the process at once, also while it reads. */
  async end(): Promise<void> {
    this.#keepsHubAlive(true);
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** A hub that ends does not wait for an idle process, which ends with its input. */
  #keepsHubAlive(keeps: boolean): void {
    const { channel } = this.#child;
    if (keeps) {
      this.#child.ref();
      channel?.ref();
    } else {
      this.#child.unref();
      channel?.unref();
    }
  }
}
