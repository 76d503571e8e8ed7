/**
 * Answers that come later. Ten thousand clients may wait for results at once, and what a request holds while it is
 * handled (its context, its headers, a chain of functions under way) is more than the connection itself. So a handler
 * that would wait gives a `Later` instead: the request counts as handled, and the answer is written when there is one.
 */
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Departure } from '../engine/results.js';
import { type AnswerRoom, roomOf } from './answer-memory.js';

/** An answer that may take long. It must not hold the context of its request. */
export class Later {
  /** Resolves with the maker of the answer when it can be given, or sooner when the client has gone away. */
  readonly ready: (client: Departure) => Promise<(room: AnswerRoom) => Response | Promise<Response>>;

  constructor(ready: Later['ready']) {
    this.ready = ready;
  }
}

export interface LaterRequest {
  /** Rejects when the caller may not have the answer any more. */
  readonly lookAgain: () => unknown;
  /** Makes an answer of an error. */
  readonly failed: (error: unknown) => Response;
  /** Hears the status of the answer, null when the client has gone away before. */
  readonly answered: (status: number | null) => void;
  /** Hears that nobody waits any more. */
  readonly over: () => void;
}

/** Writes the answer when it is there. Gives what the handler returns meanwhile. */
export function answerLater(
  later: Later,
  { incoming, outgoing }: HttpBindings,
  { lookAgain, failed, answered, over }: LaterRequest,
): Response {
  const answer = async (): Promise<Response> => {
    const make = await later.ready(new Client(outgoing));
    if (outgoing.destroyed) return NOBODY_HEARS;
    await lookAgain();
    return make(roomOf(outgoing));
  };
  const write = (response: Response) => {
    over();
    if (outgoing.destroyed) {
      answered(null);
      return response.body?.cancel();
    }
    answered(response.status);
    return getRequestListener(() => response)(incoming, outgoing);
  };
  void answer().catch(failed).then(write);
  return RESPONSE_ALREADY_SENT;
}

const NOBODY_HEARS = new Response(null, { status: 204 });

/** A client that can go away. */
class Client implements Departure {
  readonly #outgoing: HttpBindings['outgoing'];

  constructor(outgoing: HttpBindings['outgoing']) {
    this.#outgoing = outgoing;
  }

  get aborted(): boolean {
    return this.#outgoing.destroyed;
  }

  addEventListener(_: 'abort', listener: () => void): void {
    this.#outgoing.once('close', listener);
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    this.#outgoing.off('close', listener);
  }
}
