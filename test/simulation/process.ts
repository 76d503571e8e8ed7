/** A process of the simulated world, with a runtime as long as it is alive. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { World } from './world.js';

/** The wall clock of a machine; it may be set. */
export interface WallClock {
  offsetMs: number;
}

/** Time at which the world begins. */
export const BEGINNING_MS = Date.UTC(2026, 10, 21, 6, 53);

export class Process {
  readonly name: string;
  readonly world: World;
  readonly runtime: Runtime;
  #alive = true;
  /** Actions that wait for the end of a halt; null while it runs. */
  #halted: (() => void)[] | null = null;
  /** Whether it performs one of these. */
  #isActing = false;
  #onEnd: (() => void)[] = [];
  #pendingTimers = 0;

  constructor(name: string, world: World, wallClock: WallClock) {
    this.name = name;
    this.world = world;
    const bornAtMs = world.nowMs;
    this.runtime = {
      clock: {
        nowMs: () => BEGINNING_MS + Math.floor(world.nowMs) + wallClock.offsetMs,
        monotonicMs: () => world.nowMs - bornAtMs,
      },
      timers: {
        after: (delayMs, action) => this.#timer(delayMs, action),
        soon: (action) => void this.after(0, action),
      },
      random: () => world.random.next(),
      newId: () => world.newId(),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Number of timers that have neither run nor been canceled. */
  get pendingTimers(): number {
    return this.#pendingTimers;
  }

  #timer(delayMs: number, action: () => void): { cancel(): void } {
    let isPending = true;
    const over = () => {
      if (isPending) this.#pendingTimers--;
      isPending = false;
    };
    this.#pendingTimers++;
    const planned = this.after(delayMs, () => {
      over();
      action();
    });
    return {
      cancel: () => {
        over();
        planned.cancel();
      },
    };
  }

  /** Runs the action then, if the process is still alive. */
  after(delayMs: number, action: () => void): { cancel(): void } {
    let isCanceled = false;
    const planned = this.world.after(delayMs, () => this.whenRunning(() => isCanceled || action()));
    return {
      cancel: () => {
        isCanceled = true;
        planned.cancel();
      },
    };
  }

  /** Runs the action now or, while the process is halted, when it goes on; never when it has ended. */
  whenRunning(action: () => void): void {
    if (!this.#alive) return;
    if (this.#halted && !this.#isActing) this.#halted.push(action);
    else action();
  }

  get isHalted(): boolean {
    return this.#halted !== null && !this.#isActing;
  }

  /** Halts it like SIGSTOP: it does nothing until {@link goOn}, and its clocks run on. */
  halt(): void {
    this.#halted ??= [];
  }

  /** Goes on like SIGCONT, with all that has become due meanwhile, one after the other. */
  goOn(): void {
    const [next, ...rest] = this.#halted ?? [];
    if (!next || !this.#alive) {
      this.#halted = null;
      return;
    }
    this.#halted = rest;
    this.#isActing = true;
    next();
    this.#isActing = false;
    this.world.after(0, () => this.goOn());
  }

  /** Resolves after this time; never when the process ends before. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Registers an action for the end of the process. */
  onEnd(action: () => void): void {
    this.#onEnd.push(action);
  }

  /** Ends the process: none of its timers runs any more. */
  end(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const action of this.#onEnd.splice(0)) action();
  }
}
