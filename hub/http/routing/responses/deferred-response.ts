/**
 * Deferred responses. Ten thousand clients may wait for results at once, and what a request holds while it is handled (its
 * context, its headers, a chain of pending functions) takes more memory than the connection itself. So a handler that would
 * wait returns a `DeferredResponse`: the request counts as handled, and the response is written when it is ready.
 */
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Task } from '../../../core/task.js';
import type { Disconnect } from '../../../engine/following/result-waiters.js';
import { ALREADY_SENT } from '../../wire/already-sent.js';
import { type ResponseRoom, roomOf } from '../../wire/response-memory.js';

/** A response that may take long. It must not hold the context of its request. */
export class DeferredResponse {
  readonly wait: (client: Disconnect) => Promise<Task>;
  readonly respond: (task: Task, room: ResponseRoom) => Response | Promise<Response>;

  /** `wait` resolves with the task when the response is due, or when the client has disconnected; `respond` makes it. */
  constructor(wait: DeferredResponse['wait'], respond: DeferredResponse['respond']) {
    this.wait = wait;
    this.respond = respond;
  }
}

/** The request for such a response, as long as it waits. */
export interface DeferredRequest {
  /** Rejects or throws when the caller may no longer have the response. */
  reauthorize(): unknown;
  /** Makes a response of an error. */
  failed(error: unknown): Response;
  /** Called at the end with the status of the response; with null when the client has disconnected before. */
  ended(status: number | null): void;
}

/** Writes the response when it is ready. Returns what the handler returns meanwhile; for a HEAD request, which the server answers
 *  by itself, the response. */
export function deferResponse(
  deferred: DeferredResponse,
  { incoming, outgoing }: HttpBindings,
  request: DeferredRequest,
): Response | Promise<Response> {
  const respond = async (task: Task): Promise<Response> => {
    if (outgoing.destroyed) return DISCARDED;
    await request.reauthorize();
    return deferred.respond(task, roomOf(outgoing));
  };
  const ready = deferred
    .wait(new Client(outgoing))
    .then(respond)
    .catch((error: unknown) => request.failed(error));
  if (incoming.method === 'HEAD') {
    return ready.then((response) => {
      request.ended(outgoing.destroyed ? null : response.status);
      return response;
    });
  }
  const write = (response: Response) => {
    if (outgoing.destroyed) {
      request.ended(null);
      return response.body?.cancel();
    }
    request.ended(response.status);
    return getRequestListener(() => response)(incoming, outgoing);
  };
  ready.then(write).catch((error: unknown) => {
    request.failed(error);
    outgoing.destroy();
  });
  return ALREADY_SENT;
}

/** Never sent: the client has disconnected. */
const DISCARDED = new Response(null, { status: 204 });

/** The disconnect of a client, as the engine listens for it. */
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
