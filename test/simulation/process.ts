/** A process of the simulated world, with a runtime as long as it is alive. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { World } from './world.js';

/** The wall clock of a machine; it may be set. */
export interface WallClock {
  offsetMs: number;
}

const BEGINNING_MS = Date.UTC(2026, 10, 21, 6, 53);

export class Process {
  readonly name: string;
  readonly world: World;
  readonly runtime: Runtime;
  #alive = true;
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
    return this.world.after(delayMs, () => {
      if (this.#alive) action();
    });
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
