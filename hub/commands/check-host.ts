/** `workbench-hub --check-config` beyond the file: checks whether a hub with this configuration can start here. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { checkBuildTime } from '@workbench-hub/shared/checks/build-time-check';
import {
  type Finding,
  fault,
  faultWithRemedy,
  sentencesOf,
  warning,
} from '@workbench-hub/shared/checks/finding';
import { checkWritable } from '@workbench-hub/shared/checks/folder-checks';
import { checkPrograms } from '@workbench-hub/shared/checks/program-checks';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type HubConfig, logFileOf } from '../config.js';
import { installedAgentProgram } from '../own-agent/own-agent.js';
import { trustedCertificates } from '../security/trusted-certificates.js';
import { checkHubFolder } from './doctor/data-folder-check.js';
import { checkCertificate, checkHub, checkStorageKey } from './doctor/environment-checks.js';
import { checkWebhookFiles } from './doctor/webhook-checks.js';
import { placeCertificates } from './place-certificates.js';

export interface HostCheck {
  /** Reasons why a start would be refused, each with its remedy. */
  readonly faults: readonly string[];
  /** Remarks for the operator. */
  readonly notes: readonly string[];
}

/** Opens files, folders and the port as a start would; changes nothing, and needs no network. */
export async function checkHost(
  config: HubConfig,
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<HostCheck> {
  const findings = [
    ...checkBuildTime(clock),
    ...(await checkFolders(config)),
    ...(await checkCertificate(config, clock)),
    ...(await checkCertificateName(config)),
    ...(await checkProviderAuthority(config)),
    ...(await checkPlaceFiles(config)),
    ...(await checkWebhookFiles(config)),
    ...(await checkHub(config)),
    ...(await checkOwnInstances(config, environment)),
  ];
  return { faults: sentencesOf(findings, 'FAULT'), notes: sentencesOf(findings, 'WARNING') };
}

async function checkFolders(config: HubConfig): Promise<Finding[]> {
  const existing = await checkHubFolder(config);
  const findings = existing ?? (await checkWritable('dataDir', resolve(config.dataDir), 'folder', 'hub'));
  if (existing !== undefined) {
    // Before the first start there is none, which is no reason for a remark.
    const key = await checkStorageKey(config);
    findings.push(...key.filter(({ state }) => state === 'FAULT'));
  }
  return [...findings, ...(await checkWritable('log.file', resolve(logFileOf(config)), 'file', 'hub'))];
}

async function checkCertificateName({ server: { tls, publicUrl } }: HubConfig): Promise<Finding[]> {
  if (tls === null || publicUrl === null) return [];
  const { hostname } = new URL(publicUrl);
  const pem = await readFile(tls.cert, 'utf8').catch(() => undefined);
  const names = pem === undefined ? undefined : namesOf(pem);
  if (names === undefined || names.checkHost(hostname) !== undefined || names.checkIP(hostname) !== undefined)
    return [];
  return [
    warning(
      'certificate',
      `${tls.cert} is not for ${hostname}, the host of server.publicUrl, but for ${names.subjectAltName ?? names.subject}`,
      'have one made for this name, unless a proxy in front of the hub has one',
    ),
  ];
}

/** Undefined for a file that {@link checkCertificate} reports. */
function namesOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

async function checkProviderAuthority({ security: { oidc } }: HubConfig): Promise<Finding[]> {
  const file = oidc?.ca ?? null;
  if (file === null) return [];
  return refusalOf('security.oidc.ca', () => trustedCertificates(file, 'security.oidc.ca'));
}

/** Checks what the place of blobs needs on this machine: its folder, or the files of the object store. */
async function checkPlaceFiles(config: HubConfig): Promise<Finding[]> {
  const { folder, s3 } = config.storage;
  if (folder !== null) return checkWritable('storage.folder', folder, 'folder', 'hub');
  const findings = await refusalOf('storage.s3.ca', () => placeCertificates(config));
  for (const key of ['accessKeyIdFile', 'secretAccessKeyFile'] as const) {
    const file = s3?.[key] ?? null;
    if (file === null) continue;
    const isReadable = await readFile(file).then(
      () => true,
      () => false,
    );
    if (isReadable) continue;
    findings.push(
      fault(`storage.s3.${key}`, `${file} cannot be read`, 'correct the path, or the rights of the file'),
    );
  }
  return findings;
}

async function checkOwnInstances(
  { instances }: HubConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  if (instances.length === 0) return [];
  try {
    return await checkPrograms(instances, environment, dirname(installedAgentProgram()));
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [faultWithRemedy('instances', error.message)];
  }
}

async function refusalOf(check: string, open: () => Promise<unknown>): Promise<Finding[]> {
  try {
    await open();
    return [];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [faultWithRemedy(check, error.message)];
  }
}
