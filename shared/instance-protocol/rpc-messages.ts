/** The envelope of JSON-RPC 2.0: a call (without id a notification), a result, or an error. */
import * as v from 'valibot';

const MAX_ID_LENGTH = 100;

const jsonrpc = v.literal('2.0');
const id = v.union([v.pipe(v.number(), v.safeInteger()), v.pipe(v.string(), v.maxLength(MAX_ID_LENGTH))]);
export type RpcId = v.InferOutput<typeof id>;

export const rpcCall = v.object({
  jsonrpc,
  method: v.string(),
  params: v.optional(v.unknown()),
  /** Absent from notifications. */
  id: v.optional(id),
});
export type RpcCall = v.InferOutput<typeof rpcCall>;

export const rpcResult = v.object({ jsonrpc, id, result: v.nonOptional(v.unknown()) });

export const rpcFailure = v.object({
  jsonrpc,
  /** Null in the response to an unreadable message. */
  id: v.nullable(id),
  error: v.object({ code: v.pipe(v.number(), v.safeInteger()), message: v.string() }),
});
