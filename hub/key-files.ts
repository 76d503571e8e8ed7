/** The part of the composition root that makes the key files of the data folder. */
import type { HubConfig } from './config.js';
import { agentToken } from './security/agent-token.js';
import { makeSigningKeys } from './security/signing-keys.js';
import { storageKey } from './security/storage-key.js';
import { webhookKeys } from './security/webhook-keys.js';

/** Makes the files of the keys that are not configured, as far as they are missing. Rejects with `StartRefused` when one is
 *  unusable. */
export async function makeKeyFiles({
  dataDir,
  agents,
  storage,
  security,
  webhooks,
}: HubConfig): Promise<void> {
  if (!agents.enrolledOnly) await agentToken(agents.token, dataDir);
  await storageKey(storage.encryptionKey, dataDir);
  if (security.enabled) await makeSigningKeys(dataDir);
  if (webhooks.receivers.length + webhooks.notify.length > 0) await webhookKeys(dataDir);
}
