import type { HttpBindings } from '@hono/node-server';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { errorBody, pathOf } from '../../wire/errors.js';

/** Response that refuses a request of an agent, with the error body. */
export function refusal(
  context: Context,
  clock: Clock,
  status: ContentfulStatusCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return context.json(errorBody(clock, status, message, pathOf(context.req.url)), status, headers);
}

/** The same, with the rest of the body read: a sender that is cut off in the middle would not read the response. */
export function refusalAfterBody(...refused: Parameters<typeof refusal>): Response {
  (refused[0].env as HttpBindings).incoming.resume();
  return refusal(...refused);
}
