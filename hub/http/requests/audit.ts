/** Audit of requests: every change, whatever its outcome, and every refusal. Unmatched paths are not audited. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type Caller, holdsRole } from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import type { AuditMeans, AuditOutcome, AuditTrail } from '../../core/ports/audit.js';
import { statusOf } from '../wire/errors.js';

/** Details of a request that only its endpoint knows. */
export interface AuditDetails {
  /** User that the endpoint has identified; while `by` is not set, only a claim. */
  user?: string;
  /** Means of the identification. */
  by?: AuditMeans;
  /** Whether a request with a reading method changed something. */
  isChange?: boolean;
  /** Never a secret. */
  detail?: string;
}

/** A request, as far as it is known yet. */
export interface AuditedRequest {
  /** Without the query. */
  readonly path: string;
  readonly address: string;
  readonly audit: AuditDetails;
  caller: Caller | null;
}

export interface RequestAudit {
  completed(request: AuditedRequest, status: number): void;
  failed(request: AuditedRequest, error: unknown): void;
}

/** Endpoints that change something by GET. */
const CHANGES_BY_GET = new Set(['/api/2.0/auth/refresh', '/api/2.0/auth/logout']);

/** Endpoints that only answer a question by POST. */
const READS_BY_POST = new Set(['/api/x/explain']);

/** Audit of one endpoint; null when nothing is audited. */
export function auditOf(
  { method, path }: { readonly method: string; readonly path: string },
  trail: AuditTrail | null,
  clock: Clock,
): RequestAudit | null {
  if (trail === null) return null;
  const action = `${method.toUpperCase()} ${path}`;
  const isReading = ['get', 'options'].includes(method);
  const isChange = isReading ? CHANGES_BY_GET.has(path) : !READS_BY_POST.has(path);

  const record = (request: AuditedRequest, status: number, detail: string | null) => {
    const outcome = outcomeOf(status);
    if (!isChange && !request.audit.isChange && outcome !== 'REFUSED') return;
    const { audit, caller, address, path: resource } = request;
    const known = caller === null || caller.by === 'OPEN_HUB' ? null : caller;
    const entry = {
      atMs: clock.nowMs(),
      user: known?.username ?? audit.user ?? null,
      by: known?.by ?? audit.by ?? null,
      address: address === '' ? null : address,
      action,
      resource,
      outcome,
      status,
      detail: audit.detail ?? detail,
    };
    trail.record(entry, known !== null && holdsRole(known, 'ADMIN'));
  };
  return {
    completed: (request, status) => record(request, status, null),
    failed: (request, error) => {
      // Nothing was examined, and recording each would only add to the load.
      if (error instanceof HubError && error.code === 'OVERLOADED') return;
      record(request, statusOf(error), detailOf(error));
    },
  };
}

function outcomeOf(status: number): AuditOutcome {
  if (status === 401 || status === 403 || status === 429) return 'REFUSED';
  return status < 400 ? 'ALLOWED' : 'FAILED';
}

/** Without the message of a validation error: it may quote a password that was sent in the wrong field. */
function detailOf(error: unknown): string {
  if (!(error instanceof HubError)) return 'unexpected error; see the log of the hub';
  return error.code === 'INVALID_INPUT' ? error.code : `${error.code}: ${error.message}`;
}
