/** The link between a hub and the simulated database server: it takes time, loses requests before and responses after the commit,
 *  and breaks. One statement is one request; a request whose sender has gone may still take place. */
import { DatabaseFault, type DatabaseFaultKind } from '@workbench-hub/hub/store/postgres/database-fault';
import type { Database, Statement } from '@workbench-hub/hub/store/postgres/pool';
import type { Process } from '../process.js';
import type { World } from '../world.js';
import { isBatch } from './model-statements.js';
import type { DatabaseServer } from './server.js';

/** Limits of the real pool. */
const CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 12_000;

const LOCATION = 'db.example.com:5432/hub';

interface Request {
  readonly process: Process;
  readonly statement: Statement;
  readonly values: readonly unknown[];
  readonly timeout: { cancel(): void };
  isAnswered: boolean;
  isPerformed: boolean;
  resolve(rows: object[]): void;
  reject(fault: DatabaseFault): void;
}

/** Errors with which the server refuses statements, and the share of those that it refuses. */
export interface Refusal {
  readonly kind: DatabaseFaultKind;
  readonly message: string;
  readonly share: number;
  readonly isOfReads: boolean;
}

export class DatabaseLink {
  /** Shares of requests that are lost on their way, and of responses. */
  lossOfRequests = 0;
  lossOfResponses = 0;
  /** Nothing arrives, and nobody is told. */
  isCutOff = false;
  /** The server accepts requests and does not answer. */
  isHung = false;
  isSlow = false;
  refusal: Refusal | undefined;
  /** Action while the next batch is under way, which then takes long. */
  duringBatch: (() => void) | undefined;
  /** Requests take no time, and nothing fails: for an audit at the end. */
  isAtRest = false;
  /** Time of the latest failure or delay. */
  troubleAtMs = Number.NEGATIVE_INFINITY;
  readonly #world: World;
  readonly #server: DatabaseServer;
  #underWay = new Set<Request>();
  /** Requests at a server that hangs. */
  #held: Request[] = [];
  /** Requests that wait for a connection. */
  #queue: (() => void)[] = [];

  constructor(world: World, server: DatabaseServer) {
    this.#world = world;
    this.#server = server;
  }

  get isTroubled(): boolean {
    const isLossy = this.lossOfRequests + this.lossOfResponses > 0 || this.refusal !== undefined;
    return isLossy || this.isCutOff || this.isHung || this.isSlow || !this.#server.isUp;
  }

  /** The database as one process of the hub uses it. */
  open(process: Process): Database {
    const never = () => Promise.reject(new Error('the simulated server has single statements only'));
    return {
      location: LOCATION,
      rows: async <Row extends object>(statement: Statement, values: readonly unknown[] = []) =>
        (await this.#rows(process, statement, values)) as Row[],
      changed: never,
      script: never,
      transaction: never,
      connect: never,
      close: () => Promise.resolve(),
    };
  }

  /** Breaks all connections. What is under way takes place or not. */
  cut(): void {
    const world = this.#world;
    this.troubleAtMs = world.nowMs;
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
    this.#held = [];
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

  #rows(process: Process, statement: Statement, values: readonly unknown[]): Promise<object[]> {
    if (this.isAtRest) return this.#server.perform(statement, values);
    return new Promise((resolve, reject) => {
      if (this.#underWay.size < CONNECTIONS)
        return this.#send({ process, statement, values, resolve, reject });
      this.#queue.push(() => this.#send({ process, statement, values, resolve, reject }));
    });
  }

  #send(given: Pick<Request, 'process' | 'statement' | 'values' | 'resolve' | 'reject'>): void {
    const world = this.#world;
    const { process } = given;
    if (!process.alive) return;
    const timeout = process.after(QUERY_TIMEOUT_MS, () =>
      this.#fail(request, 'BROKEN', 'Query read timeout', true),
    );
    const request: Request = { ...given, timeout, isAnswered: false, isPerformed: false };
    this.#underWay.add(request);
    if (!this.#server.isUp) {
      process.after(world.between(1, 10), () =>
        this.#fail(request, 'UNREACHABLE', 'connect ECONNREFUSED', false),
      );
      return;
    }
    if (this.isCutOff) {
      // An idle connection looks usable; a new one is not made.
      if (world.happens(0.5)) return;
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

  #travelMs({ statement }: Request): number {
    const world = this.#world;
    const { duringBatch } = this;
    if (!duringBatch || !isBatch(statement.name)) return world.between(0, 6);
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
    const world = this.#world;
    if (request.isPerformed || !this.#server.isUp) return;
    if (this.isHung) return void this.#held.push(request);
    request.isPerformed = true;
    const { refusal } = this;
    if (refusal && (refusal.isOfReads || isBatch(request.statement.name)) && world.happens(refusal.share)) {
      this.#answer(request, () => this.#fail(request, refusal.kind, refusal.message, false));
      return;
    }
    let rows: object[];
    try {
      rows = await this.#server.perform(request.statement, request.values);
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

  #answer(request: Request, answer: () => void): void {
    if (this.isCutOff) return;
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
    this.#queue.shift()?.();
    return true;
  }

  /** The process has ended: its connections are gone. */
  processEnded(process: Process): void {
    for (const request of [...this.#underWay]) if (request.process === process) this.#settle(request);
    this.#queue = [];
  }
}
