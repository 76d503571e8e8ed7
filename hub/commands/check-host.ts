/** `workbench-hub --check-config` beyond the file: checks whether a hub with this configuration can start here. */
import { X509Certificate } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type HubConfig, logFileOf } from '../config.js';
import { installedAgentProgram } from '../own-agent/own-agent.js';
import { trustedCertificates } from '../security/trusted-certificates.js';
import { checkDataFolder } from './doctor/data-folder-check.js';
import { checkCertificate, checkHub, checkStorageKey } from './doctor/environment-checks.js';
import { type Finding, fault, warning } from './doctor/finding.js';

export interface HostCheck {
  /** Reasons why a start would be refused, each with its remedy. */
  readonly faults: readonly string[];
  /** Remarks for the operator. */
  readonly notes: readonly string[];
}

/** Opens files, folders and the port as a start would; changes nothing, and needs no network. */
export async function checkHost(config: HubConfig, clock: Clock): Promise<HostCheck> {
  const findings = [
    ...checkTime(clock),
    ...(await checkFolders(config)),
    ...(await checkCertificate(config, clock)),
    ...(await checkCertificateName(config)),
    ...(await checkProviderAuthority(config)),
    ...(await checkHub(config)),
    ...checkOwnInstances(config),
  ];
  const textsOf = (state: Finding['state']) =>
    findings
      .filter((finding) => finding.state === state)
      .map(
        ({ check, message, advice }) => `${check}: ${message}${advice === undefined ? '' : `: ${advice}`}`,
      );
  return { faults: textsOf('FAULT'), notes: textsOf('WARNING') };
}

function checkTime(clock: Clock): Finding[] {
  const builtAtMs = Date.parse(buildInfo.buildDate.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'));
  if (!(clock.nowMs() < builtAtMs)) return [];
  const now = new Date(clock.nowMs()).toISOString();
  return [fault('clock', `it shows ${now}, before this program was built`, 'set the clock of this machine')];
}

async function checkFolders(config: HubConfig): Promise<Finding[]> {
  const existing = await checkDataFolder(config);
  const findings = existing ?? (await writableFault('dataDir', resolve(config.dataDir)));
  if (existing !== undefined) {
    // Before the first start there is none, which is no reason for a remark.
    const key = await checkStorageKey(config);
    findings.push(...key.filter(({ state }) => state === 'FAULT'));
  }
  return [...findings, ...(await writableFault('log.file', resolve(logFileOf(config))))];
}

/** A fault when `path`, or the nearest folder above it that exists, cannot be written. */
async function writableFault(check: string, path: string): Promise<Finding[]> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return writableFolderFault(check, dirname(path));
  return (await isWritable(path, info.isDirectory())) ? [] : [unwritable(check, path)];
}

async function writableFolderFault(check: string, folder: string): Promise<Finding[]> {
  const info = await stat(folder).catch(() => undefined);
  if (info === undefined && dirname(folder) !== folder) return writableFolderFault(check, dirname(folder));
  if (!info?.isDirectory()) return [fault(check, `${folder} is not a folder`, 'correct the path')];
  return (await isWritable(folder, true)) ? [] : [unwritable(check, folder)];
}

function isWritable(path: string, isFolder: boolean): Promise<boolean> {
  return access(path, isFolder ? constants.W_OK | constants.X_OK : constants.W_OK).then(
    () => true,
    () => false,
  );
}

function unwritable(check: string, path: string): Finding {
  return fault(
    check,
    `this user cannot write ${path}`,
    'correct its permissions, or run this as the user of the hub',
  );
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

function checkOwnInstances({ instances }: HubConfig): Finding[] {
  if (instances.length === 0) return [];
  try {
    installedAgentProgram();
    return [];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [{ check: 'instances', state: 'FAULT', message: error.message }];
  }
}

async function refusalOf(check: string, open: () => Promise<unknown>): Promise<Finding[]> {
  try {
    await open();
    return [];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [{ check, state: 'FAULT', message: error.message }];
  }
}
