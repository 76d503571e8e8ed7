/** Errors of the client, a class for each way to handle them. */

/** Codes of the hub's errors, from the header `X-Error-Code`; UNKNOWN when a proxy responded in its place. */
export type ErrorCode =
  | 'INVALID_INPUT'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'TASK_NOT_FOUND'
  | 'INSTANCE_NOT_FOUND'
  | 'AGENT_NOT_FOUND'
  | 'STORED_FILE_NOT_FOUND'
  | 'STORED_FILE_EXISTS'
  | 'TASK_NOT_CANCELABLE'
  | 'TASK_NOT_DELETABLE'
  | 'STUDY_NOT_FOUND'
  | 'STUDY_NOT_CHANGEABLE'
  | 'INVALIDATION_NOT_FOUND'
  | 'RECIPE_NOT_FOUND'
  | 'SHUTDOWN_PREPARED'
  | 'OVERLOADED'
  | 'UNKNOWN'
  | (string & {});

/** Response of the hub that refuses a request. `message` says what was wrong, where, and what is allowed. */
export class HubError extends Error {
  override readonly name: string = 'HubError';
  /** HTTP status. */
  readonly status: number;
  readonly code: ErrorCode;
  /** Id under which the hub logs the request; absent from other servers. */
  readonly requestId: string | undefined;
  /** Seconds to wait before the next try, for refusals that pass. */
  readonly retryAfterS: number | undefined;
  /** The JSON body; undefined when it was none. */
  readonly body: unknown;

  constructor(message: string, { status, headers }: Pick<Response, 'status' | 'headers'>, body?: unknown) {
    super(message);
    this.body = body;
    this.status = status;
    this.code = headers.get('x-error-code') ?? 'UNKNOWN';
    this.requestId = headers.get('x-request-id') ?? undefined;
    const retryAfterS = Number(headers.get('retry-after') ?? Number.NaN);
    this.retryAfterS = Number.isFinite(retryAfterS) ? retryAfterS : undefined;
  }
}

/** Whether the hub refused a request with this code. */
export function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof HubError && error.code === code;
}

/** The request is wrong: a field, a file that is too large (400, 413, 416). */
export class RefusedError extends HubError {
  override readonly name = 'RefusedError';
}

/** No token, or one that is expired or revoked, or a wrong password (401). */
export class AuthenticationError extends HubError {
  override readonly name = 'AuthenticationError';
}

/** The user may not do this (403). */
export class PermissionError extends HubError {
  override readonly name = 'PermissionError';
}

/** There is no such task, instance, agent, file or endpoint (404). */
export class NotFoundError extends HubError {
  override readonly name = 'NotFoundError';
}

/** Its present state does not allow this, such as the cancellation of an ended task (409, 422, 423). */
export class NotPossibleError extends HubError {
  override readonly name = 'NotPossibleError';
}

/** The hub cannot do this at present; a later try may succeed (429, 502, 503, 504, 507). */
export class OverloadedError extends HubError {
  override readonly name = 'OverloadedError';
}

/** No response: the hub is down, its name or certificate is wrong, or the network is. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  /** Code of the failure, such as `ECONNREFUSED`, where the system or TLS has given one. */
  readonly code: string | undefined;

  constructor(
    message: string,
    { code, ...options }: ErrorOptions & { readonly code?: string | undefined } = {},
  ) {
    super(message, options);
    this.code = code;
  }

  /** Whether the certificate of the server is signed by no authority that is trusted here. */
  get isUntrusted(): boolean {
    return this.code !== undefined && UNTRUSTED.has(this.code);
  }
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The server at this address is no Workbench Hub. */
export class NoHubError extends Error {
  override readonly name = 'NoHubError';
}

type HubErrorClass = new (...args: ConstructorParameters<typeof HubError>) => HubError;

const CLASS_OF: Readonly<Record<number, HubErrorClass>> = {
  400: RefusedError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: NotPossibleError,
  413: RefusedError,
  416: RefusedError,
  422: NotPossibleError,
  423: NotPossibleError,
  429: OverloadedError,
  502: OverloadedError,
  503: OverloadedError,
  504: OverloadedError,
  507: OverloadedError,
};

/** Statuses with which a proxy in front of a hub refuses a request. */
const OF_PROXIES: ReadonlySet<number> = new Set([401, 403, 407, 413, 429, 502, 503, 504]);

/** The error of a response whose status is not 2xx; reads its body. */
export async function errorOf(response: Response): Promise<HubError | NoHubError> {
  const body = jsonIn(await response.text().catch(() => ''));
  const { status, statusText, headers } = response;
  const shown = `${status} ${statusText}`.trim();
  const message = messageIn(body);
  if (message === undefined && !OF_PROXIES.has(status))
    return new NoHubError(`the server responded with ${shown}: is it a Workbench Hub?`);
  if (headers.get('x-error-code') === 'UNKNOWN_PATH')
    return new NotFoundError(`${message}: the hub is older than this client`, response, body);
  return new (CLASS_OF[status] ?? HubError)(message ?? shown, response, body);
}

/** Undefined for the page of a proxy. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Message of the hub's error body (contract 10.1). */
function messageIn(body: unknown): string | undefined {
  const hasMessage = typeof body === 'object' && body !== null && 'message' in body;
  return hasMessage && typeof body.message === 'string' ? body.message : undefined;
}
