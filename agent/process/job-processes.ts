import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Platform, TaskProcesses } from './platform.js';

/** Period in which ids cannot wrap around. */
const IDS_LAST_MS = 10_000;

/** Lower bound of the process ids of an instance's current job. */
export class JobProcesses {
  readonly #platform: Platform;
  readonly #runtime: Runtime;
  #startedNone = false;
  #began: { readonly atMs: number; readonly newestPid: number | undefined } | undefined;

  constructor({ platform, runtime }: { readonly platform: Platform; readonly runtime: Runtime }) {
    this.#platform = platform;
    this.#runtime = runtime;
  }

  /** A batch job begins. */
  begin(): void {
    this.#startedNone = false;
    this.#began = { atMs: this.#runtime.clock.monotonicMs(), newestPid: this.#platform.newestPid() };
  }

  /** The job has ended, and its program knows that it started no process. */
  startedNone(): void {
    this.#startedNone = true;
  }

  /** Whether the current job may have left processes. */
  get mayBeLeft(): boolean {
    return !this.#startedNone;
  }

  /** Whether there was any batch job. */
  get hasBegun(): boolean {
    return this.#began !== undefined;
  }

  /** Processes of the task, to be searched for. */
  of(taskId: string): TaskProcesses {
    const began = this.#began;
    const isRecent = began && this.#runtime.clock.monotonicMs() - began.atMs < IDS_LAST_MS;
    return { taskId, afterPid: isRecent ? began.newestPid : undefined };
  }
}
