/** The part of the composition root that is about updates of agents. */
import { AGENT_PROTOCOL_VERSIONS } from '@workbench-hub/shared/agent-protocol/messages';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { HubConfig } from '../config.js';
import type { RolloutRules } from '../core/agent-rollout.js';
import type { UpdateOffer } from '../engine/agents/agent-updates.js';
import { openAgentFiles } from '../files/agent-files.js';
import { textSigner } from '../security/text-signer.js';
import { updateKeys } from '../security/update-keys.js';

export interface OpenedUpdates {
  /** Null for a hub that updates no agents. */
  readonly offer: UpdateOffer | null;
  /** Null for a hub that updates agents on request only. */
  readonly rules: RolloutRules | null;
  /** Public keys (`x` of a JWK) that agents pin when they are enrolled, the newest first. */
  readonly publicKeys: readonly string[];
}

/** Rejects with `StartRefused` when the keys or the folder of files are unusable. */
export async function openUpdates({ dataDir, agents }: HubConfig): Promise<OpenedUpdates> {
  const signer = await textSigner(await updateKeys(dataDir));
  const { folder, groups, canaries, atOnce, hours } = agents.updates;
  const protocol = Math.max(...AGENT_PROTOCOL_VERSIONS);
  const files = folder === null ? null : await openAgentFiles(folder, buildInfo.version);
  return {
    offer: files && { files, signer, protocol },
    rules: groups.length === 0 ? null : { groups, canaries, atOnce, hours },
    publicKeys: signer.publicKeys.map(({ x }) => x),
  };
}
