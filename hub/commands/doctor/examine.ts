import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type Finding,
  fault,
  faultWithRemedy,
  isSound,
  ok,
  warning,
} from '@workbench-hub/shared/checks/finding';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { HubConfig } from '../../config.js';
import type { StoreMaintenance } from '../../core/ports/store-maintenance.js';
import { checkPlace } from '../../files/inspect-place.js';
import { checkStore, isOnFiles, storeMaintenance } from '../../store/open-store.js';
import { BLOBS_FOLDER } from '../backup/layout.js';
import { placeCertificates } from '../place-certificates.js';
import { checkCluster } from './cluster-checks.js';
import { checkHubFolder } from './data-folder-check.js';
import { checkCertificate, checkClocks, checkHub, checkStorageKey } from './environment-checks.js';
import { checkStorage, checkUsers } from './storage-checks.js';
import { checkWebhooks } from './webhook-checks.js';

export interface ExamineOptions {
  /** Whether every index is checked and every stored byte read. */
  readonly deep: boolean;
  readonly clock: Clock;
  /** Environment of this process, which commands of workload managers inherit. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Examines the hub of this configuration, whether or not it runs. Changes nothing. */
export async function examine(
  config: HubConfig,
  { deep, clock, environment }: ExamineOptions,
): Promise<Finding[]> {
  const findings: Finding[] = [ok('configuration', 'valid')];
  const folder = await checkHubFolder(config);
  if (folder === undefined) {
    findings.push(
      fault(
        'dataDir',
        `${resolve(config.dataDir)} does not exist: no hub was ever started with this configuration`,
        'pass the configuration of the hub with --config, or start the hub',
      ),
    );
  } else if (!isOnFiles(config)) {
    findings.push(...folder, ...(await checkServer(config, deep)), ...(await checkStorageKey(config)));
  } else {
    findings.push(...folder);
    const store = storeMaintenance(config);
    if (!(await store.exists())) {
      findings.push(
        warning(
          'databases',
          `there are none in ${resolve(config.dataDir)}: no hub was started with it yet`,
          'start the hub, or pass the configuration of the right one with --config',
        ),
        ...(await checkCertificate(config, clock)),
        ...(await checkHub(config)),
      );
      return findings;
    }
    findings.push(...(await checkFiles(config, store, deep)));
  }
  findings.push(...(await checkPlaceOf(config)), ...(await checkWebhooks(config)));
  if (config.upstreams.length > 0) findings.push(...(await upstreamFindings(config, clock)));
  if (config.hosts.length > 0) findings.push(...(await hostFindings(config, environment)));
  findings.push(...(await checkCertificate(config, clock)), ...(await checkHub(config)));
  return findings;
}

/** Loaded only when wanted: the drivers of workload managers cost time. */
async function hostFindings(
  config: HubConfig,
  environment: ExamineOptions['environment'],
): Promise<Finding[]> {
  const { checkHostRecipes } = await import('./host-checks.js');
  return checkHostRecipes(config, { environment, runtime: systemRuntime });
}

/** Loaded only when wanted: the link to other hubs costs time. */
async function upstreamFindings(config: HubConfig, clock: Clock): Promise<Finding[]> {
  const { checkUpstreamLinks } = await import('./upstream-checks.js');
  return checkUpstreamLinks(config, { clock, timers: systemRuntime.timers });
}

/** Checks the databases in dataDir and what belongs to them. */
async function checkFiles(config: HubConfig, store: StoreMaintenance, deep: boolean): Promise<Finding[]> {
  if (!(await store.hasTasks()) && !hasRun(config)) {
    return [
      ok('database of tasks', 'there is none yet: the first start of the hub makes it, and the storage key'),
      ...(await checkUsers(config, store)),
    ];
  }
  const stored = await checkStorage(config, store, deep);
  const clocks = stored[0]?.state === 'OK' ? await checkClocks(store) : [];
  return [...stored, ...(await checkStorageKey(config)), ...clocks];
}

/** Whether a hub has left something in dataDir that no command makes. */
function hasRun({ dataDir }: HubConfig): boolean {
  return [BLOBS_FOLDER, 'hub.sqlite-confirmed', 'storage-key'].some((name) =>
    existsSync(join(dataDir, name)),
  );
}

/** Checks the place of blobs, if it is outside of dataDir. */
async function checkPlaceOf(config: HubConfig): Promise<Finding[]> {
  try {
    return await checkPlace(config.storage, {
      localFolder: join(config.dataDir, BLOBS_FOLDER),
      ca: await placeCertificates(config),
    });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [faultWithRemedy('storage', error.message)];
  }
}

/** Checks the database server and, when a hub can work on it, what the database holds. */
async function checkServer(config: HubConfig, deep: boolean): Promise<Finding[]> {
  const findings = await checkStore(config, systemRuntime).catch(refused);
  const store = storeMaintenance(config);
  if (!isSound(findings) || !(await store.exists())) return findings;
  const stored = await checkStorage(config, store, deep);
  findings.push(...stored);
  if (stored[0]?.state === 'OK')
    findings.push(...(await checkClocks(store)), ...(await checkCluster(store, systemRuntime.timers)));
  return findings;
}

/** Finding for a refusal before the database server could be asked. */
function refused(error: unknown): Finding[] {
  if (!(error instanceof StartRefused)) throw error;
  return [faultWithRemedy('store', error.message)];
}
