/** The PID namespace in which bubblewrap runs a program. The kernel ends all of its processes with the first one, which is gone
 *  only when all others are (pid_namespaces(7)). */
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Platform } from './platform.js';

/** Maximum wait for its end; only a process that the kernel cannot interrupt takes longer. */
const END_LIMIT_MS = 10_000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

export class Namespaces {
  readonly #platform: Platform;
  readonly #told: Promise<void>;
  #first: { readonly pid: number; readonly identity: string } | undefined;

  /** Reads bubblewrap's --info-fd: one object with the id of the first process. */
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

  /** Sends SIGTERM to the program, but not to its sessions. The first process ignores it. */
  terminate(): void {
    if (this.#first) this.#platform.signalGroup(this.#first.pid, 'SIGTERM');
  }

  /** Kills all of its processes. */
  kill(): void {
    const first = this.#first;
    if (!first || this.#platform.identify(first.pid) !== first.identity) return;
    try {
      process.kill(first.pid, 'SIGKILL');
    } catch {
      // ESRCH: it has ended.
    }
  }

  /** Kills all of its processes; resolves with true when none is left, with false when one does not end. Called when bubblewrap
   *  itself has ended. */
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

/** Undefined when it is gone: its id may already belong to another process. */
function firstProcess(pid: number, platform: Platform): { pid: number; identity: string } | undefined {
  const identity = platform.identify(pid);
  if (identity === undefined) return undefined;
  try {
    // Ids from the outermost namespace to the innermost, where it is 1.
    const ids = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]?.split(/\s+/);
    return ids !== undefined && ids.length > 1 && ids.at(-1) === '1' ? { pid, identity } : undefined;
  } catch {
    return undefined;
  }
}
