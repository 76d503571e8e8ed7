/** A process of the simulated world: as long as it lives, its clock, timers, chance and ids are a Runtime. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { World } from './world.js';

/** The machine's clock by which people read the time; it may be set. */
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
      random: () => world.chance.next(),
      newId: () => world.newId(),
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** How many timers its program has set that have neither run nor been canceled. */
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

  /** Does it then, if the process still lives. */
  after(delayMs: number, action: () => void): { cancel(): void } {
    return this.world.after(delayMs, () => {
      if (this.#alive) action();
    });
  }

  /** Resolves after this time; never when the process dies before. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Called when the process ends, however it does. */
  onEnd(action: () => void): void {
    this.#onEnd.push(action);
  }

  /** From now on nothing of it happens any more. */
  end(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const action of this.#onEnd.splice(0)) action();
  }
}
