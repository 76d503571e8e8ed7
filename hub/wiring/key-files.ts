/** The part of the composition root that makes the key files of the data folder, and shares them with other hubs. */
import { join } from 'node:path';
import { replacePrivateFile } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { HubConfig } from '../config.js';
import type { KeyFiles } from '../core/ports/key-files.js';
import { encryptedWithIn } from '../files/blob-files.js';
import { agentToken } from '../security/agent-token.js';
import { hubIdentity } from '../security/hub-identity.js';
import { manifestKeys } from '../security/manifest-keys.js';
import { makeSigningKeys } from '../security/signing-keys.js';
import { storageKey } from '../security/storage-key.js';
import { updateKeys } from '../security/update-keys.js';
import { webhookKeys } from '../security/webhook-keys.js';

/** Takes over the keys of the hubs on the same database, and makes those that none has yet. Rejects with `StartRefused` when a key is
 *  unusable, and when files of this hub could no longer be read. */
export async function shareKeyFiles(
  keyFiles: KeyFiles,
  config: HubConfig,
  newId: () => string,
): Promise<void> {
  const { dataDir, storage } = config;
  const keep = async (name: string, former: string) => {
    if (name !== 'storage-key') return;
    if (storage.encryptionKey === null) await refuseToLose(Buffer.from(former.trim(), 'base64'), config);
    await replacePrivateFile(join(dataDir, `${name}.former`), former);
  };
  // A new hub makes no key that the others have.
  await keyFiles.share(keep);
  await makeKeyFiles(config);
  await hubIdentity(dataDir, newId);
  await keyFiles.share(keep);
}

/** Refuses to replace a storage key while there are files that only this key can read. */
async function refuseToLose(key: Buffer, { dataDir, storage }: HubConfig): Promise<void> {
  for (const folder of [join(dataDir, 'files'), storage.folder]) {
    const file = folder === null ? undefined : await encryptedWithIn(folder, key);
    if (file === undefined) continue;
    throw new StartRefused(
      `${join(dataDir, 'storage-key')} differs from that of the hubs on this database, and ${file} is encrypted with it: ` +
        'give this hub another dataDir, or remove the encrypted files if nobody needs them',
    );
  }
}

/** Makes the files of the keys that are not configured, as far as they are missing. Rejects with `StartRefused` when one is
 *  unusable. */
async function makeKeyFiles({ dataDir, agents, storage, security, webhooks }: HubConfig): Promise<void> {
  if (!agents.enrolledOnly) await agentToken(agents.token, dataDir);
  await storageKey(storage.encryptionKey, dataDir);
  if (security.enabled) await makeSigningKeys(dataDir);
  if (webhooks.receivers.length + webhooks.notify.length > 0) await webhookKeys(dataDir);
  await manifestKeys(dataDir);
  await updateKeys(dataDir);
}
