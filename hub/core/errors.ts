/** Error codes: the closed list of reasons to refuse a request. `http/wire/errors.ts` gives each its status. */
export const ERROR_CODES = [
  'INVALID_INPUT',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'FOREIGN_ORIGIN',
  'TOO_MANY_ATTEMPTS',
  'TOO_MANY_REFRESHES',
  'TOO_MANY_STREAMS',
  'OVERLOADED',
  'UNKNOWN_PATH',
  'METHOD_NOT_ALLOWED',
  'BODY_TOO_LARGE',
  'BODY_TOO_SLOW',
  'QUOTA_EXCEEDED',
  'TASK_NOT_FOUND',
  'TASK_FILE_NOT_FOUND',
  'INSTANCE_NOT_FOUND',
  'AGENT_NOT_FOUND',
  'AGENT_NOT_ENROLLED',
  'AGENT_NOT_UPDATABLE',
  'STORED_FILE_NOT_FOUND',
  'STORED_FILE_EXISTS',
  'STORED_FILE_FOREIGN',
  'UPLOAD_NOT_FOUND',
  'UPLOAD_IN_PROGRESS',
  'WRONG_OFFSET',
  'DIGEST_MISMATCH',
  'UNSUPPORTED_MEDIA_TYPE',
  'UNSUPPORTED_TUS_VERSION',
  'USER_NOT_FOUND',
  'USER_EXISTS',
  'USER_CONFIGURED',
  'OWN_USER',
  'LAST_ADMINISTRATOR',
  'TOKEN_NOT_FOUND',
  'TOO_MANY_TOKENS',
  'TASK_NOT_CANCELABLE',
  'TASK_NOT_DELETABLE',
  'STUDY_NOT_FOUND',
  'STUDY_NOT_CHANGEABLE',
  'INVALIDATION_NOT_FOUND',
  'RECIPE_NOT_FOUND',
  'IDEMPOTENCY_KEY_REUSED',
  'INPUT_STORAGE_OFF',
  'OUTPUT_STORAGE_OFF',
  'SHUTDOWN_PREPARED',
  'AGENT_UNAVAILABLE',
  'HUB_UNAVAILABLE',
  'SIGN_ON_UNAVAILABLE',
  'RANGE_NOT_SATISFIABLE',
  'STORE_UNAVAILABLE',
  'STORAGE_FULL',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Refusal of a request. The client sees the message as it is: what is wrong, where, and what is allowed. */
export class HubError extends Error {
  override readonly name = 'HubError';
  readonly code: ErrorCode;
  /** Delay before the next try, for refusals that pass. */
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { readonly retryAfterS?: number }) {
    super(message, options);
    this.code = code;
    this.retryAfterS = options?.retryAfterS;
  }
}

/** Validation error; `where` is a field such as `inputScripts[0].content`. */
export interface ValidationError {
  readonly where: string;
  readonly what: string;
}

/** Validation errors that are listed; further ones are counted. */
const MAX_ERRORS_SHOWN = 10;

/** Error of the code INVALID_INPUT, which names the first validation errors and counts the others. */
export function invalidInput(errors: readonly ValidationError[]): HubError {
  const shown = errors.slice(0, MAX_ERRORS_SHOWN).map(({ where, what }) => `${where}: ${what}`);
  const more = errors.length - shown.length;
  return new HubError('INVALID_INPUT', shown.join('; ') + (more > 0 ? `; and ${more} more` : ''));
}
