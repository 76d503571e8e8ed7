/** Faults of PostgreSQL in words: for clients as `HubError`, for operators as `StartRefused`. */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import pg from 'pg';
import { HubError } from '../../../core/errors.js';

export type DatabaseFaultKind =
  /** No connection can be made, or the server does not accept any now. */
  | 'UNREACHABLE'
  /** The connection broke, or the server fell silent, while a statement ran. */
  | 'BROKEN'
  /** Statement or lock timeout. */
  | 'TIMEOUT'
  | 'LOGIN_REFUSED'
  | 'NO_DATABASE'
  | 'NO_RIGHTS'
  | 'TLS'
  | 'FULL_DISK'
  | 'TOO_MANY_CONNECTIONS'
  /** The server is a standby, or set to read only. */
  | 'READ_ONLY'
  /** Deadlock, serialization failure, a reference to what another hub has removed, or a key that it has used at the same time: the
   *  same statement may succeed when it is repeated. */
  | 'CONFLICT'
  | 'REFUSED';

/** Failure of a statement or connection. */
export class DatabaseFault extends Error {
  override readonly name = 'DatabaseFault';
  readonly kind: DatabaseFaultKind;
  /** SQLSTATE, such as `42501`, or the code of the system, such as `ECONNREFUSED`; empty for neither. */
  readonly code: string;
  /** Whether the statement may have taken effect. False: it changed nothing. */
  readonly isOutcomeUnknown: boolean;
  readonly location: string;

  constructor(
    kind: DatabaseFaultKind,
    cause: Error & { readonly code?: unknown },
    { location, isOutcomeUnknown }: { readonly location: string; readonly isOutcomeUnknown: boolean },
  ) {
    super(messageOf(cause), { cause });
    this.kind = kind;
    this.code = typeof cause.code === 'string' ? cause.code : '';
    this.isOutcomeUnknown = isOutcomeUnknown;
    this.location = location;
  }

  /** The same fault where the statement cannot have taken effect. */
  withoutEffect(): DatabaseFault {
    const { kind, location } = this;
    return new DatabaseFault(kind, this.cause as Error, { location, isOutcomeUnknown: false });
  }

  /** Whether the server only refused the statement. */
  get isConnectionUsable(): boolean {
    return this.cause instanceof pg.DatabaseError && this.cause.severity === 'ERROR';
  }
}

/** Translates an error of the driver. `wasSent`: it occurred while a statement ran. */
export function databaseFault(error: unknown, location: string, wasSent: boolean): DatabaseFault {
  if (error instanceof DatabaseFault) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  const ofServer = cause instanceof pg.DatabaseError ? kindOfServerError(cause) : undefined;
  const kind = ofServer ?? (wasSent ? 'BROKEN' : kindOfFailedConnection(cause));
  // A server that shuts down may have committed before it ended the connection.
  const isOutcomeUnknown = wasSent && (kind === 'BROKEN' || kind === 'UNREACHABLE');
  return new DatabaseFault(kind, cause, { location, isOutcomeUnknown });
}

const KINDS: Readonly<Record<string, DatabaseFaultKind>> = {
  '23503': 'CONFLICT',
  '25006': 'READ_ONLY',
  '28000': 'LOGIN_REFUSED',
  '28P01': 'LOGIN_REFUSED',
  '3D000': 'NO_DATABASE',
  '40001': 'CONFLICT',
  '40P01': 'CONFLICT',
  '42501': 'NO_RIGHTS',
  '53100': 'FULL_DISK',
  '53300': 'TOO_MANY_CONNECTIONS',
  '55P03': 'TIMEOUT',
  '57014': 'TIMEOUT',
  '57P01': 'UNREACHABLE',
  '57P02': 'UNREACHABLE',
  '57P03': 'UNREACHABLE',
  '57P05': 'BROKEN',
  '25P03': 'BROKEN',
};

/** Keys that a statement recognizes when it is repeated. */
const RECOGNIZED_KEYS = new Set(['idempotency_key_pkey']);

function kindOfServerError({ code, constraint }: pg.DatabaseError): DatabaseFaultKind {
  if (code === '23505' && RECOGNIZED_KEYS.has(constraint ?? '')) return 'CONFLICT';
  return kindOfState(code ?? '');
}

function kindOfState(state: string): DatabaseFaultKind {
  return KINDS[state] ?? (state.startsWith('08') ? 'BROKEN' : 'REFUSED');
}

function kindOfFailedConnection({ message, code }: Error & { readonly code?: unknown }): DatabaseFaultKind {
  if (/\bSSL\b|certificate|self-signed/i.test(message) || /^ERR_TLS|CERT/.test(String(code))) return 'TLS';
  return 'UNREACHABLE';
}

/** An attempt at several addresses fails with several errors and no message of its own. */
function messageOf(error: Error): string {
  if (!(error instanceof AggregateError) || error.message !== '') return error.message;
  return error.errors
    .map((each: unknown) => (each instanceof Error ? each.message : String(each)))
    .join(', ');
}

/** Delay after which a client may try again. */
const RETRY_AFTER_S = 2;

/** Error that a client may see; undefined for an error of another origin. */
export function storeError(error: unknown): HubError | undefined {
  if (!(error instanceof DatabaseFault)) return undefined;
  if (error.kind === 'FULL_DISK')
    return new HubError('STORAGE_FULL', "the disk of the hub's database is full; nothing was changed", {
      cause: error,
    });
  const effect = error.isOutcomeUnknown ? 'whether anything was changed is not known' : 'nothing was changed';
  return new HubError('STORE_UNAVAILABLE', `the hub cannot use its database; ${effect}`, {
    cause: error,
    retryAfterS: RETRY_AFTER_S,
  });
}

/** Error that a client may see when it only read; undefined for an error of another origin. */
export function readError(error: unknown): HubError | undefined {
  if (!(error instanceof DatabaseFault)) return undefined;
  return new HubError('STORE_UNAVAILABLE', 'the hub cannot use its database; nothing was changed', {
    cause: error,
    retryAfterS: RETRY_AFTER_S,
  });
}

const ADVICE: Readonly<Record<DatabaseFaultKind, string>> = {
  UNREACHABLE: 'start PostgreSQL, correct store, or let connections through the firewall',
  BROKEN: 'see the log of PostgreSQL, and what is between it and the hub',
  TIMEOUT: 'see pg_stat_activity for what holds it up',
  LOGIN_REFUSED: "correct the user and the password in store, or PostgreSQL's pg_hba.conf",
  NO_DATABASE: 'create the database, or correct store',
  NO_RIGHTS: 'give these rights to the user in store',
  TLS: 'correct sslmode and sslrootcert in store, or the certificate of PostgreSQL',
  FULL_DISK: 'make room on the disk of PostgreSQL',
  TOO_MANY_CONNECTIONS: 'raise max_connections of PostgreSQL, or the limit of the user or database',
  READ_ONLY: 'name the primary server in store: this one is a standby or set to read only',
  CONFLICT: 'try again',
  REFUSED: 'see the log of PostgreSQL',
};

/** Error for an operator: the location, the words of PostgreSQL, and the remedy. */
export function refusal(error: unknown): unknown {
  const fault = error instanceof HubError ? error.cause : error;
  if (!(fault instanceof DatabaseFault)) return error;
  const { location, message, code, kind } = fault;
  const inBrackets = code === '' || message.includes(code) ? '' : ` (${code})`;
  return new StartRefused(
    `the database ${location} cannot be used: ${message}${inBrackets}; ${ADVICE[kind]}`,
    { cause: fault },
  );
}
