/** The name space of processes in which bubblewrap runs a program. The kernel ends all that is in it with its first process,
 *  which is gone only when all the others are (pid_namespaces(7)). */
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Platform } from './platform.js';

/** Only a process that the kernel cannot interrupt takes longer to end. */
const END_LIMIT_MS = 10_000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

export class Namespaces {
  readonly #platform: Platform;
  readonly #told: Promise<void>;
  #first: { readonly pid: number; readonly identity: string } | undefined;

  /** `info` is what bubblewrap writes to its --info-fd: one object with the id of the first process. */
  constructor(info: Readable, platform: Platform) {
    this.#platform = platform;
    let text = '';
    this.#told = new Promise((resolve) => {
      info.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        const pid = Number(/"child-pid"\s*:\s*(\d+)/.exec(text)?.[1]);
        if (pid > 0) this.#first ??= firstProcess(pid, platform);
      });
      info.once('close', resolve).on('error', () => undefined);
    });
  }

  /** Tells the program, but not what it runs in a session of its own, to end. The first process is deaf to that. */
  terminate(): void {
    if (this.#first) this.#platform.signalGroup(this.#first.pid, 'SIGTERM');
  }

  /** Ends all that is in it. */
  kill(): void {
    const first = this.#first;
    if (!first || this.#platform.identify(first.pid) !== first.identity) return;
    try {
      process.kill(first.pid, 'SIGKILL');
    } catch {
      // ESRCH: it has ended meanwhile.
    }
  }

  /** Ends all that is in it; resolves with true when nothing is left, with false when something does not end. To be called
   *  when bubblewrap itself has ended. */
  async end({ clock, timers }: Runtime): Promise<boolean> {
    await this.#told;
    const first = this.#first;
    if (!first) return true;
    const deadlineMs = clock.monotonicMs() + END_LIMIT_MS;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      if (this.#platform.identify(first.pid) !== first.identity) return true;
      if (clock.monotonicMs() > deadlineMs) return false;
      this.kill();
      await pause(timers, pauseMs);
    }
  }
}

/** Undefined when it is gone already: then the id may be that of an innocent process. */
function firstProcess(pid: number, platform: Platform): { pid: number; identity: string } | undefined {
  const identity = platform.identify(pid);
  if (identity === undefined) return undefined;
  try {
    // Its ids from the outermost name space to the innermost, where it is the first.
    const ids = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]?.split(/\s+/);
    return ids !== undefined && ids.length > 1 && ids.at(-1) === '1' ? { pid, identity } : undefined;
  } catch {
    return undefined;
  }
}
