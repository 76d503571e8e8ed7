/** The simulated world: one event queue, one clock, one source of randomness. The seed alone decides what happens. */
import { createHash } from 'node:crypto';
import { type SeededRandom, seededRandom } from '../support/random.js';

export interface Planned {
  cancel(): void;
}

interface Event {
  readonly dueMs: number;
  readonly order: number;
  readonly action: () => void;
  canceled: boolean;
}

/** More turns than anything takes that waits for no event. */
const TURNS_WITHOUT_EVENT = 1000;

/** A violated invariant. */
export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

export class World {
  readonly random: SeededRandom;
  /** Time since the beginning of the world. */
  nowMs = 0;
  steps = 0;
  readonly violations: Violation[] = [];
  /** Number of faults by kind. */
  readonly faults = new Map<string, number>();
  /** Whether faults happen; afterwards every task has to end. */
  turbulent = true;
  readonly #events = new Heap();
  readonly #onTrace: ((line: string) => void) | undefined;
  readonly #hash = createHash('sha256');
  #orders = 0;
  #ids = 0;

  constructor(seed: number, onTrace?: (line: string) => void) {
    this.random = seededRandom(seed);
    this.#onTrace = onTrace;
  }

  /** Whether the trace is read; costly lines are made only then. */
  get traced(): boolean {
    return this.#onTrace !== undefined;
  }

  after(delayMs: number, action: () => void): Planned {
    const event = {
      dueMs: this.nowMs + Math.max(delayMs, 0),
      order: ++this.#orders,
      action,
      canceled: false,
    };
    this.#events.push(event);
    return {
      cancel: () => {
        event.canceled = true;
      },
    };
  }

  /** A random integer of milliseconds, from `leastMs` up to `mostMs`. */
  between(leastMs: number, mostMs: number): number {
    return leastMs + this.random.below(mostMs - leastMs + 1);
  }

  /** True with this probability. */
  happens(probability: number): boolean {
    return this.random.next() < probability;
  }

  newId(): string {
    return `00000000-0000-7000-8000-${(++this.#ids).toString(16).padStart(12, '0')}`;
  }

  /** Records an event; it is part of the hash by which runs are compared. */
  tell(who: string, what: string): void {
    const line = `${(this.nowMs / 1000).toFixed(3).padStart(9)} ${who.padEnd(10)} ${what}`;
    this.#hash.update(line);
    this.#onTrace?.(line);
  }

  /** Adds a line to the trace only. */
  note(who: string, what: string): void {
    this.#onTrace?.(`${(this.nowMs / 1000).toFixed(3).padStart(9)} ${who.padEnd(10)}   ${what}`);
  }

  fault(kind: string, who: string, detail = ''): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
    this.tell(who, `FAULT ${kind}${detail === '' ? '' : ` ${detail}`}`);
  }

  violated(invariant: string, what: string): void {
    this.violations.push({ invariant, what });
    this.tell('VIOLATED', `${invariant}: ${what}`);
  }

  /** Runs the next event with its immediate consequences; false when there is none. */
  async step(): Promise<boolean> {
    for (;;) {
      const event = this.#events.pop();
      if (!event) return false;
      if (event.canceled) continue;
      this.nowMs = Math.max(this.nowMs, event.dueMs);
      this.steps++;
      event.action();
      await quiet();
      return true;
    }
  }

  /** Settles with a promise that may wait for events. Rejects when it has not settled after a minute of them. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    promise.then(settle, settle);
    const giveUpAtMs = this.nowMs + 60_000;
    for (;;) {
      for (let turn = 0; turn < TURNS_WITHOUT_EVENT && !isSettled; turn++) await quiet();
      if (isSettled) return promise;
      if (this.nowMs > giveUpAtMs || !(await this.step()))
        throw new Error('a promise of the world never settles');
    }
  }

  /** Hash of the whole run, the same for the same seed. */
  digest(): string {
    return this.#hash.copy().update(`${this.steps} ${this.#orders}`).digest('hex');
  }
}

/** Resolves when all settled promises have had their consequences, which is before the next turn. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

class Heap {
  readonly #events: Event[] = [];

  push(event: Event): void {
    const events = this.#events;
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(event, events[parent] as Event)) break;
      events[at] = events[parent] as Event;
      at = parent;
    }
    events[at] = event;
  }

  pop(): Event | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (!first || !last || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && before(events[child + 1] as Event, events[child] as Event)) child++;
      if (!before(events[child] as Event, last)) break;
      events[at] = events[child] as Event;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

function before(a: Event, b: Event): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
