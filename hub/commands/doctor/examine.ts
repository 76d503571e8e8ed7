import { resolve } from 'node:path';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../../config.js';
import { checkDataFolder } from './data-folder-check.js';
import { checkCertificate, checkClocks, checkHub, checkStorageKey } from './environment-checks.js';
import { type Finding, fault, ok } from './finding.js';
import { checkStorage } from './storage-checks.js';

/** Looks at everything that has to do with the hub of this configuration, whether or not it runs. Changes nothing. */
export async function examine(
  config: HubConfig,
  { deep, clock }: { readonly deep: boolean; readonly clock: Clock },
): Promise<Finding[]> {
  const findings: Finding[] = [ok('configuration', 'valid')];
  const folder = await checkDataFolder(config);
  if (folder === undefined) {
    findings.push(
      fault(
        'dataDir',
        `${resolve(config.dataDir)} is not there: no hub was ever started with this configuration`,
        'name the configuration of the hub with --config, or start it',
      ),
    );
  } else {
    findings.push(...folder);
    const kept = await checkStorage(config, deep);
    findings.push(...kept, ...(await checkStorageKey(config)));
    if (kept[0]?.state === 'OK') findings.push(...checkClocks(config));
  }
  findings.push(...(await checkCertificate(config, clock)), ...(await checkHub(config)));
  return findings;
}
