/**
 * Protection from clients that hold a connection by sending or reading next to nothing. A body must arrive at a minimum rate,
 * and a response must be read at all; clients that wait for a result are left alone. Connections are checked every few
 * seconds, so that requests themselves cost nothing more.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';

export interface SlowClientLimits {
  /** Minimum average rate of a body, in bytes a second; 0 for none. */
  readonly minBodyRate: number;
  /** Time in milliseconds without progress after which a response is aborted. */
  readonly stalledAnswer: number;
}

export interface SlowClientsOptions {
  readonly limits: SlowClientLimits;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Whether unread responses fill more than half of the memory for them: then stalled ones are aborted sooner. */
  readonly isMemoryScarce: () => boolean;
  /** Ends the connection of a request whose body is too slow. */
  readonly onSlowBody: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A body that is arriving, with the bytes received on the connection before the measurement began. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  sinceMs: number;
  bytesRead: number;
}

const CHECK_EVERY_MS = 5000;

/** Period of the average rate: short pauses are tolerated. */
const AVERAGE_OVER_MS = 30_000;

export class SlowClients {
  readonly #options: SlowClientsOptions;
  readonly #arriving = new Map<Socket, Arrival>();
  #timer: Timer | undefined;

  constructor(options: SlowClientsOptions) {
    this.#options = options;
  }

  /** Checks these connections every few seconds until {@link stop}. */
  start(connections: () => Iterable<Socket>): void {
    this.#timer?.cancel();
    this.#timer = this.#options.timers.after(CHECK_EVERY_MS, () => {
      this.#checkBodies();
      for (const socket of connections()) this.#checkResponse(socket);
      this.start(connections);
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#arriving.clear();
  }

  /** A request has arrived, perhaps without its body. */
  began(request: IncomingMessage, response: ServerResponse): void {
    const { headers, socket } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    this.#arriving.set(socket, this.#measure(request, response));
  }

  /** The connection has ended. */
  forget(socket: Socket): void {
    this.#arriving.delete(socket);
  }

  #measure(request: IncomingMessage, response: ServerResponse): Arrival {
    const sinceMs = this.#options.clock.monotonicMs();
    return { request, response, sinceMs, bytesRead: request.socket.bytesRead };
  }

  #checkBodies(): void {
    const { limits, clock, onSlowBody } = this.#options;
    for (const [socket, arrival] of this.#arriving) {
      const { request, response, sinceMs, bytesRead } = arrival;
      if (request.complete || socket.destroyed) {
        this.#arriving.delete(socket);
        continue;
      }
      const passedMs = clock.monotonicMs() - sinceMs;
      // A body that the hub itself does not read is not the client's fault.
      const isRead = request.readableLength === 0;
      const requiredBytes = (limits.minBodyRate * passedMs) / 1000;
      if (passedMs >= AVERAGE_OVER_MS && isRead && socket.bytesRead - bytesRead < requiredBytes) {
        this.#arriving.delete(socket);
        onSlowBody(request, response);
      } else if (passedMs >= AVERAGE_OVER_MS || !isRead) {
        this.#arriving.set(socket, this.#measure(request, response));
      }
    }
  }

  /** Leaves the rest to Node, which alone sees how much of a large response has left: its timeout ends with the response. */
  #checkResponse(socket: Socket): void {
    if (socket.writableLength === 0) return;
    const { limits, isMemoryScarce } = this.#options;
    const timeoutMs = isMemoryScarce()
      ? Math.min(limits.stalledAnswer, CHECK_EVERY_MS)
      : limits.stalledAnswer;
    // Setting the same timeout again would restart it at each check.
    if (socket.timeout !== timeoutMs) socket.setTimeout(timeoutMs);
  }
}
