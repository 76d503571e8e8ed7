/** Reload of a running hub, beside that of its log. */
import type { ReloadStep } from '@workbench-hub/shared/config/reload';
import type { HubConfig } from '../config.js';
import type { OwnAgent } from '../own-agent/own-agent.js';
import type { HubParts } from './hub-parts.js';

/** Keys of the configuration whose changes need no restart. */
export const RELOADABLE_KEYS = [
  'log',
  'server.tls.cert',
  'server.tls.key',
  'server.tls.agentCa',
  'security.users',
];

export interface ReloadableParts extends Pick<HubParts, 'tls' | 'accounts' | 'reopenAudit'> {
  readonly ownAgent: OwnAgent | null;
}

/** `parts` gives those of the running hub. */
export function reloadSteps(parts: () => ReloadableParts | undefined): ReloadStep<HubConfig>[] {
  return [
    {
      run: async ({ log }) => {
        parts()?.ownAgent?.setLogLevel(log.level);
        return null;
      },
    },
    {
      run: async ({ server }) => {
        const tls = parts()?.tls;
        return tls && server.tls ? tls.reload(server.tls) : null;
      },
    },
    { run: async ({ security }) => (await parts()?.accounts.takeUsers(security.users)) ?? null },
    {
      run: async () => {
        const reopen = parts()?.reopenAudit ?? null;
        if (reopen === null) return null;
        await reopen();
        return 'the files of the audit log are opened again';
      },
    },
  ];
}
