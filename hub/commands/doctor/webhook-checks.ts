/** Checks of webhooks: keys, trusted certificates, and whether the addresses of receivers may be reached. */
import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Finding, fault, faultWithRemedy, ok, warning } from '@workbench-hub/shared/checks/finding';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { HubConfig } from '../../config.js';
import { trustedCertificates } from '../../security/trusted-certificates.js';
import { WEBHOOK_KEYS_FILE, webhookKeys } from '../../security/webhook-keys.js';
import { permittedAddresses } from '../../webhooks/permitted-addresses.js';

type WebhookConfig = Pick<HubConfig, 'dataDir' | 'webhooks'>;

const CHECK = 'webhooks';

/** Checks files without the network; nothing when no webhooks are configured. */
export async function checkWebhookFiles({ dataDir, webhooks }: WebhookConfig): Promise<Finding[]> {
  if (addressesIn(webhooks).length === 0) return [];
  try {
    if (webhooks.ca !== null) await trustedCertificates(webhooks.ca, 'webhooks.ca');
    // Reading a missing file would create it.
    if (existsSync(join(dataDir, WEBHOOK_KEYS_FILE))) await webhookKeys(dataDir);
    return [];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [faultWithRemedy(CHECK, error.message)];
  }
}

/** Checks the files, and resolves the names of receivers. */
export async function checkWebhooks(config: WebhookConfig): Promise<Finding[]> {
  const faults = await checkWebhookFiles(config);
  const hosts = new Set(addressesIn(config.webhooks).map((url) => new URL(url).hostname));
  const isPermitted = permittedAddresses(config.webhooks.privateNetworks);
  const names = await Promise.all([...hosts].map((host) => checkHost(host, isPermitted)));
  return [...faults, ...names.flat()];
}

async function checkHost(host: string, isPermitted: (address: string) => boolean): Promise<Finding> {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  try {
    const addresses = (await lookup(name, { all: true })).map(({ address }) => address);
    if (addresses.some(isPermitted)) return ok(CHECK, `${host} has an address that may be reached`);
    return fault(
      CHECK,
      `${host} has only addresses in networks that are not public: ${addresses.join(', ')}`,
      'name their network in webhooks.privateNetworks, if webhooks shall go there',
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return warning(
      CHECK,
      `the name ${host} cannot be resolved (${code})`,
      'correct the name in webhooks, or the DNS',
    );
  }
}

function addressesIn({ receivers, notify }: HubConfig['webhooks']): string[] {
  return [...receivers.map(({ url }) => url), ...notify];
}
