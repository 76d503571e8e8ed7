/** A connection outside the pool, as one process of a hub has it: it carries statements and notifications, and breaks. */
import { DatabaseFault } from '@workbench-hub/hub/store/postgres/connection/database-fault';
import type { Connection, Statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import type { Process } from '../process.js';
import type { World } from '../world.js';

/** Longest way of a notification. */
const MAX_WAY_MS = 20;
const LOOK_AGAIN_MS = 200;

export interface ControlLinkOptions {
  readonly world: World;
  readonly process: Process;
  readonly link: { readonly isCutOff: boolean; readonly lossOfNotifications: number };
  readonly location: string;
  rows(statement: Statement, values: readonly unknown[]): Promise<object[]>;
}

export class ControlLink {
  readonly connection: Connection;
  readonly #options: ControlLinkOptions;
  #end: (fault: DatabaseFault | null) => void = () => undefined;
  #hear: ((payload: string) => void) | undefined;
  #isOver = false;
  /** Notifications under way, in their order. */
  readonly #underWay: string[] = [];

  constructor(options: ControlLinkOptions) {
    this.#options = options;
    const never = () => Promise.reject(new Error('the simulated server has no such statement'));
    this.connection = {
      rows: <Row extends object>(statement: Statement, values: readonly unknown[] = []) =>
        this.#rows(statement, values) as Promise<Row[]>,
      changed: never,
      script: never,
      listen: async (_, hear) => {
        this.#hear = hear;
      },
      ended: new Promise((resolve) => {
        this.#end = resolve;
      }),
      close: async () => this.#over(null),
    };
  }

  notified(payload: string): void {
    const { world, process, link } = this.#options;
    if (!this.#hear || this.#isOver || world.happens(link.lossOfNotifications)) return;
    this.#underWay.push(payload);
    process.after(world.between(0, MAX_WAY_MS), () => this.#deliver());
  }

  /** The connection broke; the process is told. */
  broke(why: string): void {
    const { process } = this.#options;
    const fault = this.#fault(why);
    this.#isOver = true;
    process.after(0, () => this.#over(fault));
  }

  /** While the hub is cut off, what was sent waits. */
  #deliver(): void {
    const { process, link } = this.#options;
    if (this.#isOver) return;
    if (link.isCutOff) return void process.after(LOOK_AGAIN_MS, () => this.#deliver());
    const payload = this.#underWay.shift();
    if (payload !== undefined) this.#hear?.(payload);
  }

  #rows(statement: Statement, values: readonly unknown[]): Promise<object[]> {
    if (this.#isOver) return Promise.reject(this.#fault('the connection is closed'));
    return this.#options.rows(statement, values);
  }

  #over(fault: DatabaseFault | null): void {
    this.#isOver = true;
    this.#end(fault);
  }

  #fault(why: string): DatabaseFault {
    const { location } = this.#options;
    return new DatabaseFault('BROKEN', new Error(why), { location, isOutcomeUnknown: true });
  }
}
