import {
  type Installation,
  knownInstallation,
  type ToldInstallation,
} from '@workbench-hub/shared/domain/installation';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { AgentRecord } from '../../core/ports/agent-store.js';

export interface AgentRow {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly seen_at: number;
  readonly clock_offset_ms: number | null;
  /** JSON; null for an agent that has not joined since hubs keep it. */
  readonly installation: string | null;
  /** JSON. */
  readonly instances: string;
}

export function agentOfRow(row: AgentRow): AgentRecord {
  return {
    id: row.id,
    version: row.version,
    revision: row.revision,
    seenAtMs: row.seen_at,
    clockOffsetMs: row.clock_offset_ms,
    installation: installationOfText(row.installation),
    instances: JSON.parse(row.instances) as InstanceProfile[],
  };
}

export function installationText(installation: Installation | undefined): string | null {
  return installation ? JSON.stringify(installation) : null;
}

/** The installation in a row, which a hub of a later version may have written. */
export function installationOfText(text: string | null): Installation | undefined {
  return text === null ? undefined : knownInstallation(JSON.parse(text) as ToldInstallation);
}
