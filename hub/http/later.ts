/**
 * Answers that come later. Ten thousand clients may wait for results at once, and what a request holds while it is
 * handled (its context, its headers, a chain of functions under way) is more than the connection itself. So a handler
 * that would wait gives a `Later` instead: the request counts as handled, and the answer is written when there is one.
 */
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Departure } from '../engine/results.js';

/** An answer that may take long. It must not hold the context of its request. */
export class Later {
  readonly answer: (client: Departure) => Promise<Response>;

  /** `answer` resolves sooner when the client has gone away; what it gives then is dropped. */
  constructor(answer: (client: Departure) => Promise<Response>) {
    this.answer = answer;
  }
}

/** Writes the answer when it is there; `failed` makes one of an error, `answered` hears its status, null when the client has
 *  gone away before, and `over` that nobody waits any more. Gives what the handler returns meanwhile. */
export function answerLater(
  later: Later,
  { incoming, outgoing }: HttpBindings,
  failed: (error: unknown) => Response,
  answered: (status: number | null) => void,
  over: () => void,
): Response {
  const write = (response: Response) => {
    over();
    if (outgoing.destroyed) {
      answered(null);
      return response.body?.cancel();
    }
    answered(response.status);
    return getRequestListener(() => response)(incoming, outgoing);
  };
  void later.answer(new Client(outgoing)).catch(failed).then(write);
  return RESPONSE_ALREADY_SENT;
}

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
