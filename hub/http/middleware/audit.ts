/**
 * The one place that tells the audit log of requests: every change whatever became of it, and every refusal. What is no
 * endpoint changes nothing and refuses nobody, and is not told.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type Caller, holdsRole } from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import type { AuditMeans, AuditOutcome, AuditTrail } from '../../core/ports/audit.js';
import { statusOf } from '../responses/errors.js';

/** What an endpoint tells of a request beyond what is seen from outside. */
export interface AuditNote {
  /** Who it is, where the endpoint itself finds that out, or who it claims to be as long as `by` is not set. */
  user?: string;
  /** How it showed that. */
  by?: AuditMeans;
  /** Of a request whose method only reads: that it changed something all the same. */
  isChange?: boolean;
  /** Never a secret. */
  detail?: string;
}

/** A request, as far as it has come. */
export interface SeenRequest {
  /** Without the query. */
  readonly path: string;
  readonly address: string;
  readonly note: AuditNote;
  caller: Caller | null;
}

export interface RequestAudit {
  answered(request: SeenRequest, status: number): void;
  failed(request: SeenRequest, error: unknown): void;
}

/** Reads by method, and changes by nature. */
const CHANGES_BY_GET = new Set(['/api/2.0/auth/refresh', '/api/2.0/auth/logout']);

/** Of one endpoint; null when there is no audit. */
export function auditOf(
  { method, path }: { readonly method: string; readonly path: string },
  trail: AuditTrail | null,
  clock: Clock,
): RequestAudit | null {
  if (trail === null) return null;
  const action = `${method.toUpperCase()} ${path}`;
  const isChange = method !== 'get' || CHANGES_BY_GET.has(path);

  const record = (request: SeenRequest, status: number, detail: string | null) => {
    const outcome = outcomeOf(status);
    if (!isChange && !request.note.isChange && outcome !== 'REFUSED') return;
    const { note, caller, address, path: resource } = request;
    const known = caller === null || caller.by === 'OPEN_HUB' ? null : caller;
    const entry = {
      atMs: clock.nowMs(),
      user: known?.username ?? note.user ?? null,
      by: known?.by ?? note.by ?? null,
      address: address === '' ? null : address,
      action,
      resource,
      outcome,
      status,
      detail: note.detail ?? detail,
    };
    trail.record(entry, known !== null && holdsRole(known, 'ADMIN'));
  };
  return {
    answered: (request, status) => record(request, status, null),
    failed: (request, error) => {
      // Nothing was looked at; a record of each would only add to the load.
      if (error instanceof HubError && error.code === 'OVERLOADED') return;
      record(request, statusOf(error), detailOf(error));
    },
  };
}

function outcomeOf(status: number): AuditOutcome {
  if (status === 401 || status === 403 || status === 429) return 'REFUSED';
  return status < 400 ? 'ALLOWED' : 'FAILED';
}

/** What was wrong with an input may quote it, and with it a password that stood in the wrong place. */
function detailOf(error: unknown): string {
  if (!(error instanceof HubError)) return 'an unexpected error; the log of the hub tells more';
  return error.code === 'INVALID_INPUT' ? error.code : `${error.code}: ${error.message}`;
}
