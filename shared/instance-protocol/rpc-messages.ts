/** The envelope of JSON-RPC 2.0: what a parsed line has to be. Checked by hand, for it is done for every line. */

export type RpcId = number | string;

export interface RpcCall {
  method: string;
  params?: unknown;
  /** Without one it is a notification. */
  id?: RpcId | undefined;
}

export interface RpcResult {
  id: RpcId;
  result: unknown;
}

export interface RpcFailure {
  /** Null for an answer to something that could not be read. */
  id: RpcId | null;
  error: { code: number; message: string };
}

type Members = Readonly<Record<string, unknown>>;

const MAX_ID_LENGTH = 100;

/** Any message at all of this version; what it is, and whether it is whole, the functions below tell. */
export function isVersion2(value: unknown): value is Members {
  return isObject(value) && value['jsonrpc'] === '2.0';
}

export function isCall(message: Members): message is Members & RpcCall {
  return typeof message['method'] === 'string' && (message['id'] === undefined || isId(message['id']));
}

export function isResult(message: Members): message is Members & RpcResult {
  return message['result'] !== undefined && isId(message['id']);
}

export function isFailure(message: Members): message is Members & RpcFailure {
  const { id, error } = message;
  return (
    (id === null || isId(id)) &&
    isObject(error) &&
    Number.isSafeInteger(error['code']) &&
    typeof error['message'] === 'string'
  );
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value);
}
