/**
 * Clients that hold a connection by sending or taking next to nothing are cut off; whoever waits for a result is not, however
 * long. A body must come at a least pace, and an answer be taken at all. The connections are looked at every few seconds,
 * so that the requests themselves cost nothing more.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';

export interface SlowClientLimits {
  /** Bytes of a body that have to come in a second, on average; 0: any pace will do. */
  readonly minBodyRate: number;
  /** An answer of which nothing is taken for so long is given up. */
  readonly stalledAnswer: number;
}

export interface SlowClientsOptions {
  readonly limits: SlowClientLimits;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Whether answers that their clients have not taken fill more than half of the memory for them: then those that are not taken
   *  are given up sooner. */
  readonly isMemoryScarce: () => boolean;
  /** The body of a request comes too slowly: ends the connection. */
  readonly onSlowBody: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A body that is on its way. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  sinceMs: number;
  /** What the connection had received by then. */
  bytesRead: number;
}

const LOOK_EVERY_MS = 5000;

/** The pace is the average over this time: a short standstill is nothing. */
const AVERAGE_OVER_MS = 30_000;

export class SlowClients {
  readonly #options: SlowClientsOptions;
  readonly #arriving = new Map<Socket, Arrival>();
  #timer: Timer | undefined;

  constructor(options: SlowClientsOptions) {
    this.#options = options;
  }

  /** Looks every few seconds, at these connections, until {@link stop}. */
  start(connections: () => Iterable<Socket>): void {
    this.#timer = this.#options.timers.after(LOOK_EVERY_MS, () => {
      this.#lookAtBodies();
      for (const socket of connections()) this.#lookAtAnswer(socket);
      this.start(connections);
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#arriving.clear();
  }

  /** A request has come, perhaps without its body. */
  began(request: IncomingMessage, response: ServerResponse): void {
    const { headers, socket } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    this.#arriving.set(socket, this.#from(request, response));
  }

  /** The connection has ended. */
  forget(socket: Socket): void {
    this.#arriving.delete(socket);
  }

  #from(request: IncomingMessage, response: ServerResponse): Arrival {
    const sinceMs = this.#options.clock.monotonicMs();
    return { request, response, sinceMs, bytesRead: request.socket.bytesRead };
  }

  #lookAtBodies(): void {
    const { limits, clock, onSlowBody } = this.#options;
    for (const [socket, arrival] of this.#arriving) {
      const { request, response, sinceMs, bytesRead } = arrival;
      if (request.complete || socket.destroyed) {
        this.#arriving.delete(socket);
        continue;
      }
      const passedMs = clock.monotonicMs() - sinceMs;
      // What the hub itself does not take up is not the fault of the client.
      const isTakenUp = request.readableLength === 0;
      const enough = (limits.minBodyRate * passedMs) / 1000;
      if (passedMs >= AVERAGE_OVER_MS && isTakenUp && socket.bytesRead - bytesRead < enough) {
        this.#arriving.delete(socket);
        onSlowBody(request, response);
      } else if (passedMs >= AVERAGE_OVER_MS || !isTakenUp) {
        this.#arriving.set(socket, this.#from(request, response));
      }
    }
  }

  /** From here on Node watches: it alone sees how much of a large answer has left. A timer ends with the answer. */
  #lookAtAnswer(socket: Socket): void {
    if (socket.writableLength === 0) return;
    const { limits, isMemoryScarce } = this.#options;
    const timeoutMs = isMemoryScarce() ? Math.min(limits.stalledAnswer, LOOK_EVERY_MS) : limits.stalledAnswer;
    // One that runs must not begin anew at each look.
    if (socket.timeout !== timeoutMs) socket.setTimeout(timeoutMs);
  }
}
