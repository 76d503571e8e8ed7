/**
 * Answers that come later. Ten thousand clients may wait for results at once, and what a request holds while it is
 * handled (its context, its headers, a chain of functions under way) is more than the connection itself. So a handler
 * that would wait gives a `Later` instead: the request counts as handled, and the answer is written when there is one.
 */
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Task } from '../../core/task.js';
import type { Disconnect } from '../../engine/result-waiters.js';
import { type ResponseRoom, roomOf } from '../server/response-memory.js';

/** An answer that may take long. It must not hold the context of its request. */
export class DeferredResponse {
  readonly wait: (client: Disconnect) => Promise<Task>;
  readonly answer: (task: Task, room: ResponseRoom) => Response | Promise<Response>;

  /** `wait` resolves with the task when the answer can be given, or sooner when the client has gone away; `answer` makes it. */
  constructor(wait: DeferredResponse['wait'], answer: DeferredResponse['answer']) {
    this.wait = wait;
    this.answer = answer;
  }
}

/** The request for such an answer, as long as it waits. */
export interface DeferredRequest {
  /** Rejects or throws when the caller may not have the answer any more. */
  lookAgain(): unknown;
  /** Makes an answer of an error. */
  failed(error: unknown): Response;
  /** Hears that nobody waits any more, with the status of the answer; null when the client has gone away before. */
  over(status: number | null): void;
}

/** Writes the answer when it is there. Gives what the handler returns meanwhile. */
export function deferResponse(
  later: DeferredResponse,
  { incoming, outgoing }: HttpBindings,
  request: DeferredRequest,
): Response {
  const answer = async (task: Task): Promise<Response> => {
    if (outgoing.destroyed) return NOBODY_HEARS;
    await request.lookAgain();
    return later.answer(task, roomOf(outgoing));
  };
  const write = (response: Response) => {
    if (outgoing.destroyed) {
      request.over(null);
      return response.body?.cancel();
    }
    request.over(response.status);
    return getRequestListener(() => response)(incoming, outgoing);
  };
  void later
    .wait(new Client(outgoing))
    .then(answer)
    .then(write, (error: unknown) => write(request.failed(error)));
  return RESPONSE_ALREADY_SENT;
}

const NOBODY_HEARS = new Response(null, { status: 204 });

/** A client that can go away. */
class Client implements Disconnect {
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
