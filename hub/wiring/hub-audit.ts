/** The audit log of the hub, and the reader of those of all hubs. */
import type { OnStop } from '@workbench-hub/shared/runtime/service';
import { auditFolderOf } from '../audit/audit-folder.js';
import { openAuditLog } from '../audit/audit-log.js';
import { auditSource } from '../audit/audit-reader.js';
import { auditReceiver, clusterAudit } from '../audit/cluster-audit.js';
import { rateLimitedAudit } from '../audit/rate-limited-audit.js';
import type { Store } from '../core/ports/store.js';
import type { HubParts } from './hub-parts.js';
import type { Setup } from './setup.js';

/** Nothing is recorded while security is off; former entries can be read. */
export async function openAudit(
  { config, runtime, log }: Setup,
  { cluster: { hubs, relay } }: Store,
  onStop: OnStop,
): Promise<Pick<HubParts, 'audit' | 'auditReader' | 'reopenAudit'>> {
  const folder = auditFolderOf(config.dataDir);
  const own = auditSource(folder);
  relay.serveHub('audit', auditReceiver(own, { clock: runtime.clock, log }));
  const auditReader = clusterAudit({ own, hubs, relay });
  if (!config.security.enabled) return { audit: null, auditReader, reopenAudit: null };
  const { maxFileSize, keepFiles } = config.audit;
  const auditLog = await openAuditLog({ folder, maxFileBytes: maxFileSize, keepFiles, runtime, log });
  const trail = rateLimitedAudit(auditLog, runtime);
  onStop(() => {
    trail.flush();
    return auditLog.close();
  });
  return { audit: trail, auditReader, reopenAudit: () => auditLog.reopen() };
}
