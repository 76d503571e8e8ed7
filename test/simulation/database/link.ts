/** The link between a hub and the simulated database server: it takes time, loses requests before and responses after the commit,
 *  and breaks. One statement is one request; a request whose sender has gone may still take place. */
import {
  DatabaseFault,
  type DatabaseFaultKind,
} from '@workbench-hub/hub/store/postgres/connection/database-fault';
import type {
  Connection,
  Database,
  Queries,
  Statement,
} from '@workbench-hub/hub/store/postgres/connection/pool';
import type { Process } from '../process.js';
import type { World } from '../world.js';
import { ControlLink } from './control-link.js';
import { isBatch } from './model-statements.js';
import type { DatabaseServer, ServerLink } from './server.js';

/** Limits of the real pool. */
const CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 12_000;

const LOCATION = 'db.example.com:5432/hub';

/** Work of the server on behalf of a process. */
interface Work {
  readonly process: Process;
  /** Whether it is a batch of a lane. */
  readonly isBatch: boolean;
  /** Whether the server asks the hub for more while it performs it: then it takes place only while the hub runs. */
  readonly isDialog?: boolean;
  perform(): Promise<unknown>;
}

interface Request extends Work {
  /** Whether it takes one of the pool's connections. */
  readonly isPooled: boolean;
  readonly timeout: { cancel(): void };
  /** Number of the server's start at which it was sent. */
  readonly start: number;
  isAnswered: boolean;
  isPerformed: boolean;
  /** Whether it, or its response, was lost without notice: its sender waits in vain. */
  isSwallowed: boolean;
  resolve(result: unknown): void;
  reject(fault: DatabaseFault): void;
}

type Sending = Omit<Request, 'timeout' | 'start' | 'isAnswered' | 'isPerformed' | 'isSwallowed'>;

/** Errors with which the server refuses statements, and the share of those that it refuses. */
export interface Refusal {
  readonly kind: DatabaseFaultKind;
  readonly message: string;
  readonly share: number;
  readonly isOfReads: boolean;
}

export class DatabaseLink implements ServerLink {
  /** Shares of requests that are lost on their way, and of responses. */
  lossOfRequests = 0;
  lossOfResponses = 0;
  /** Nothing arrives, and nobody is told. */
  isCutOff = false;
  /** The server accepts requests and does not answer. */
  isHung = false;
  isSlow = false;
  refusal: Refusal | undefined;
  /** Limit of the pool. */
  connections = CONNECTIONS;
  /** Share of the notifications that are lost. */
  lossOfNotifications = 0;
  /** Action while the next batch is under way, which then takes long. */
  duringBatch: (() => void) | undefined;
  /** Requests take no time, and nothing fails: for an audit at the end. */
  isAtRest = false;
  /** Time of the latest failure or delay. */
  troubleAtMs = Number.NEGATIVE_INFINITY;
  readonly #world: World;
  readonly #server: DatabaseServer;
  #underWay = new Set<Request>();
  /** Number of the server's starts. */
  #starts = 0;
  /** Requests at a server that hangs. */
  #held: Request[] = [];
  /** Requests that wait for a connection. */
  #queue: (() => void)[] = [];
  /** Recovery of the server whose commits are known to be on its standby. */
  #confirmed = 0;

  /** Connections outside the pool. */
  readonly #controls = new Set<ControlLink>();

  constructor(world: World, server: DatabaseServer) {
    this.#world = world;
    this.#server = server;
    server.links.push(this);
  }

  get isTroubled(): boolean {
    const lost = this.lossOfRequests + this.lossOfResponses + this.lossOfNotifications;
    const isLossy = lost > 0 || this.refusal !== undefined || this.connections < CONNECTIONS;
    const isWaiting = this.isHung || this.isSlow || this.#server.isWithoutStandby;
    const isSwallowed = [...this.#underWay].some((request) => request.isSwallowed);
    return isLossy || this.isCutOff || isWaiting || isSwallowed || !this.#server.isUp;
  }

  /** The database as one process of the hub uses it. */
  open(process: Process): Database {
    const never = () => Promise.reject(new Error('the simulated server has no such statement'));
    return {
      location: LOCATION,
      rows: async <Row extends object>(statement: Statement, values: readonly unknown[] = []) =>
        (await this.#ask(this.#workOf(process, statement, values))) as Row[],
      changed: never,
      script: never,
      transaction: async <T>(work: (queries: Queries) => Promise<T>) => {
        const perform = () => this.#server.transaction(work);
        return (await this.#ask({ process, isBatch: false, isDialog: true, perform })) as T;
      },
      connect: () => this.#connect(process),
      close: () => Promise.resolve(),
    };
  }

  notified(payload: string): void {
    for (const control of this.#controls) control.notified(payload);
  }

  #breakControls(why: string): void {
    for (const control of this.#controls) control.broke(why);
    this.#controls.clear();
  }

  #workOf(process: Process, statement: Statement, values: readonly unknown[]): Work {
    return {
      process,
      isBatch: isBatch(statement.name),
      perform: () => this.#server.perform(statement, values),
    };
  }

  async #connect(process: Process): Promise<Connection> {
    await this.#ask({ process, isBatch: false, perform: () => Promise.resolve() }, false);
    const control = new ControlLink({
      world: this.#world,
      process,
      link: this,
      location: LOCATION,
      rows: async (statement, values) =>
        (await this.#ask(this.#workOf(process, statement, values), false)) as object[],
    });
    this.#controls.add(control);
    void control.connection.ended.then(() => this.#controls.delete(control));
    return control.connection;
  }

  /** Breaks all connections. What is under way takes place or not. */
  cut(): void {
    const world = this.#world;
    this.troubleAtMs = world.nowMs;
    this.#breakControls('read ECONNRESET');
    for (const request of [...this.#underWay]) {
      this.#fail(request, 'BROKEN', 'read ECONNRESET', true);
      if (!request.isPerformed && world.happens(0.5))
        world.after(world.between(0, 4000), () => void this.#perform(request));
      else request.isPerformed = true;
    }
    for (const next of this.#queue.splice(0)) next();
  }

  /** The server ends: nothing that is under way takes place any more. */
  serverEnded(): void {
    this.troubleAtMs = this.#world.nowMs;
    this.#starts++;
    this.#held = [];
    this.#breakControls('terminating connection');
    for (const request of [...this.#underWay]) {
      request.isPerformed = true;
      this.#fail(request, 'UNREACHABLE', 'terminating connection due to administrator command', true);
    }
  }

  /** A server that hung goes on with what it got. */
  release(): void {
    this.isHung = false;
    for (const request of this.#held.splice(0)) void this.#perform(request);
  }

  #ask(work: Work, isPooled = true): Promise<unknown> {
    if (this.isAtRest) return work.perform();
    return new Promise((resolve, reject) => {
      if (!isPooled || this.#pooled < this.connections) this.#send({ ...work, isPooled, resolve, reject });
      else this.#wait({ ...work, isPooled, resolve, reject });
    });
  }

  /** Waits for a connection of the pool. */
  #wait(given: Sending): void {
    const { process, reject } = given;
    const send = () => {
      late.cancel();
      this.#send(given);
    };
    const late = process.after(CONNECT_TIMEOUT_MS, () => {
      this.#queue = this.#queue.filter((next) => next !== send);
      this.troubleAtMs = this.#world.nowMs;
      const cause = new Error('timeout exceeded when trying to connect');
      reject(new DatabaseFault('UNREACHABLE', cause, { location: LOCATION, isOutcomeUnknown: false }));
    });
    this.#queue.push(send);
  }

  /** Others hold all connections of the pool; returns how they release them. */
  exhaust(): () => void {
    this.connections = 0;
    return () => {
      this.connections = CONNECTIONS;
      for (const send of this.#queue.splice(0, CONNECTIONS)) send();
    };
  }

  get #pooled(): number {
    return [...this.#underWay].filter((request) => request.isPooled).length;
  }

  #send(given: Sending): void {
    const world = this.#world;
    const { process } = given;
    if (!process.alive) return;
    const timeout = process.after(QUERY_TIMEOUT_MS, () =>
      this.#fail(request, 'BROKEN', 'Query read timeout', true),
    );
    const request: Request = {
      ...given,
      timeout,
      start: this.#starts,
      isAnswered: false,
      isPerformed: false,
      isSwallowed: false,
    };
    this.#underWay.add(request);
    if (!this.#server.isUp) {
      process.after(world.between(1, 10), () =>
        this.#fail(request, 'UNREACHABLE', 'connect ECONNREFUSED', false),
      );
      return;
    }
    if (this.isCutOff) {
      // An idle connection looks usable; a new one is not made.
      request.isSwallowed = world.happens(0.5);
      if (request.isSwallowed) return;
      process.after(CONNECT_TIMEOUT_MS, () => this.#fail(request, 'UNREACHABLE', 'timeout expired', false));
      return;
    }
    if (world.happens(this.lossOfRequests)) {
      process.after(world.between(1, 50), () => this.#fail(request, 'BROKEN', 'write EPIPE', true));
      return;
    }
    // The backend of a hub that has ended performs what it has got.
    world.after(this.#travelMs(request), () => void this.#arrive(request));
  }

  #travelMs({ isBatch: isOfLane }: Request): number {
    const world = this.#world;
    const { duringBatch } = this;
    if (!duringBatch || !isOfLane) return world.between(0, 6);
    this.duringBatch = undefined;
    world.after(world.between(0, 20), duringBatch);
    return world.between(0, 9000);
  }

  #arrive(request: Request): void {
    const world = this.#world;
    if (this.isHung) this.#held.push(request);
    else if (this.isSlow) {
      this.troubleAtMs = world.nowMs;
      world.after(world.between(100, 3000), () => void this.#perform(request));
    } else void this.#perform(request);
  }

  async #perform(request: Request): Promise<void> {
    // What was sent to a server that has ended since goes with it.
    if (request.isPerformed || request.start !== this.#starts || !this.#server.isUp) return;
    if (this.isHung) return void this.#held.push(request);
    const { isDialog, process } = request;
    if (isDialog && process.isHalted) return process.whenRunning(() => void this.#carryOut(request));
    if (!isDialog || process.alive) await this.#carryOut(request);
  }

  async #carryOut(request: Request): Promise<void> {
    const world = this.#world;
    if (request.isPerformed || !this.#server.isUp) return;
    const isConfirmed = !request.isPooled || this.#confirmed === this.#server.recoveries;
    if (!isConfirmed && !(await this.#confirm(request))) return;
    request.isPerformed = true;
    const { refusal } = this;
    if (refusal && (refusal.isOfReads || request.isBatch) && world.happens(refusal.share)) {
      this.#answer(request, () => this.#fail(request, refusal.kind, refusal.message, false));
      return;
    }
    let rows: unknown;
    try {
      rows = await request.perform();
    } catch (error) {
      this.#answer(request, () => this.#fail(request, 'REFUSED', String(error), false));
      return;
    }
    if (!this.isCutOff && world.happens(this.lossOfResponses)) {
      this.#answer(request, () => this.#fail(request, 'BROKEN', 'Connection terminated unexpectedly', true));
      return;
    }
    this.#answer(request, () => {
      if (this.#settle(request)) request.resolve(rows);
    });
  }

  /** The first use of a server that has recovered waits for a commit; false when the request has ended meanwhile. */
  async #confirm(request: Request): Promise<boolean> {
    const { recoveries } = this.#server;
    await this.#server.confirm();
    this.#confirmed = Math.max(recoveries, this.#confirmed);
    return !request.isAnswered && !request.isPerformed && this.#server.recoveries === recoveries;
  }

  #answer(request: Request, answer: () => void): void {
    request.isSwallowed = this.isCutOff;
    if (request.isSwallowed) return;
    request.process.after(this.#world.between(0, 6), answer);
  }

  #fail(request: Request, kind: DatabaseFaultKind, message: string, isOutcomeUnknown: boolean): void {
    this.troubleAtMs = this.#world.nowMs;
    if (!this.#settle(request)) return;
    request.reject(new DatabaseFault(kind, new Error(message), { location: LOCATION, isOutcomeUnknown }));
  }

  /** Ends a request once; false when it has ended. */
  #settle(request: Request): boolean {
    if (request.isAnswered) return false;
    request.isAnswered = true;
    request.timeout.cancel();
    this.#underWay.delete(request);
    if (request.isPooled && this.#pooled < this.connections) this.#queue.shift()?.();
    return true;
  }

  /** The process has ended: its connections are gone. */
  processEnded(process: Process): void {
    this.#breakControls('the process has ended');
    for (const request of [...this.#underWay]) if (request.process === process) this.#settle(request);
    this.#queue = [];
  }
}
