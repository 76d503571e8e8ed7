/** Entries of the audit log about what an upstream does with lent instances. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AuditTrail } from '../../core/ports/audit.js';
import type { TaskOrigin } from '../../core/task.js';

/** Records an action for a user of an upstream. `fault` is why it failed. */
export type LendingAudit = (
  action: 'LENT_INSTANCE_COMMAND' | 'LOAN',
  resource: string,
  asker: TaskOrigin,
  fault?: string,
) => void;

/** Entries about the upstream of this name; none while nothing is recorded (`audit` is null or absent). */
export function lendingAudit(
  upstream: string,
  { audit, clock }: { readonly audit?: AuditTrail | null | undefined; readonly clock: Clock },
): LendingAudit {
  return (action, resource, { hub, user }, fault) => {
    const asked = `asked ${user === null ? '' : `by ${user} `}at ${hub}`;
    audit?.record({
      atMs: clock.nowMs(),
      user: upstream,
      by: 'UPSTREAM',
      address: null,
      action,
      resource,
      outcome: fault === undefined ? 'ALLOWED' : 'FAILED',
      status: null,
      detail: fault === undefined ? asked : `${asked}: ${fault}`,
    });
  };
}
