/** The part of the composition root that is about manifests. */
import type { HubConfig } from '../config.js';
import type { Engine } from '../engine/engine.js';
import { Manifests } from '../engine/tasks/manifests.js';
import { openManifestSigner } from '../security/manifest-keys.js';

/** Rejects with `StartRefused` when the keys are unusable. */
export async function openManifests(
  { dataDir, server }: Pick<HubConfig, 'dataDir' | 'server'>,
  { tasks, details }: Pick<Engine, 'tasks' | 'details'>,
  hubId: string,
): Promise<Manifests> {
  const signer = await openManifestSigner(dataDir);
  return new Manifests({ tasks, details, signer, hub: { id: hubId, baseUrl: server.publicUrl } });
}
