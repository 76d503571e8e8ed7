/** Checks other than of the data: storage key, certificate, port, running hub, and clocks of agents. */
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { checkValidity } from '@workbench-hub/shared/checks/certificate-checks';
import { type Finding, fault, ok, warning } from '@workbench-hub/shared/checks/finding';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { HubConfig } from '../../config.js';
import type { StoreMaintenance } from '../../core/ports/store-maintenance.js';
import { storageKey } from '../../security/storage-key.js';
import { openTlsFiles } from '../../security/tls-files.js';
import { storeMaintenance } from '../../store/open-store.js';

/** Tolerance for the time that a message takes, which makes a clock look slow. */
const MAX_OFFSET_MS = 5000;

const RESPONSE_TIMEOUT_MS = 5000;

export async function checkStorageKey(config: HubConfig): Promise<Finding[]> {
  const { dataDir, storage } = config;
  // Reading a missing key would create it.
  if (storage.encryptionKey === null && !existsSync(join(dataDir, 'storage-key'))) {
    return [
      warning(
        'storage key',
        'there is none',
        'if files were encrypted before, restore it from a backup; otherwise the next start creates one',
      ),
    ];
  }
  try {
    await storageKey(storage.encryptionKey, dataDir);
    return [ok('storage key', 'usable')];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [fault('storage key', error.message, 'correct its rights, or restore it from a backup')];
  }
}

export async function checkCertificate({ server }: HubConfig, clock: Clock): Promise<Finding[]> {
  const check = 'certificate';
  if (server.tls === null) return [ok(check, 'the hub does not use TLS itself')];
  try {
    const { content } = await openTlsFiles(server.tls);
    const advice = `renew ${server.tls.cert} and its key; the hub reloads them within a minute`;
    const certificate = new X509Certificate(content.cert as string);
    return [checkValidity(check, certificate, { nowMs: clock.nowMs(), advice })];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [fault(check, error.message, 'correct server.tls')];
  }
}

/** Checks that a running hub responds, or else that its port is free. */
export async function checkHub(config: HubConfig): Promise<Finding[]> {
  const check = 'hub';
  const { host, port } = config.server;
  if (await isInUse(config)) {
    if (port === 0) return [ok(check, 'a hub runs on this dataDir, on a port assigned by the system')];
    const response = await readiness(config);
    if (response === 200) return [ok(check, `a hub runs on this dataDir and answers on port ${port}`)];
    const what =
      typeof response === 'number' ? `answers /readyz with ${response}` : `does not answer: ${response}`;
    return [
      fault(
        check,
        `a hub runs on this dataDir, but port ${port} ${what}`,
        'read the log of the hub; restart it',
      ),
    ];
  }
  const taken = port === 0 ? undefined : await portFault(host, port);
  if (taken === undefined)
    return [ok(check, `no hub runs on this dataDir; it could listen on ${host}:${port}`)];
  return [
    fault(
      check,
      `no hub runs on this dataDir, and none could listen on ${host}:${port}: ${taken}`,
      'find the program with "ss -ltnp", or set another server.port',
    ),
  ];
}

export async function checkClocks(store: StoreMaintenance): Promise<Finding[]> {
  const check = 'clocks of agents';
  const known = await store.agentClocks();
  const wrong = known.filter(({ offsetMs }) => Math.abs(offsetMs) > MAX_OFFSET_MS);
  if (wrong.length === 0)
    return [ok(check, `${known.length} agents have reported theirs, and none is far off`)];
  return wrong.map(({ agentId, offsetMs }) =>
    warning(
      check,
      `that of ${agentId} was ${(Math.abs(offsetMs) / 1000).toFixed(0)} s ${offsetMs > 0 ? 'ahead' : 'behind'} when it last joined`,
      'synchronize both hosts (chronyd, systemd-timesyncd): logs cannot be compared, and certificates may seem expired',
    ),
  );
}

/** A database server that cannot be asked has a finding of its own. */
function isInUse(config: HubConfig): Promise<boolean> {
  return storeMaintenance(config)
    .isInUse()
    .catch((error: unknown) => {
      if (!(error instanceof StartRefused)) throw error;
      return false;
    });
}

/** HTTP status of the readiness probe, or the reason for none. The certificate is not verified. */
function readiness({ server }: HubConfig): Promise<number | string> {
  const host = ANY_ADDRESS.get(server.host) ?? server.host;
  const options = { host, port: server.port, path: '/readyz', timeout: RESPONSE_TIMEOUT_MS };
  return new Promise((resolve) => {
    const asked = server.tls ? tlsRequest({ ...options, rejectUnauthorized: false }) : request(options);
    asked.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.once('timeout', () =>
      asked.destroy(new Error(`no response within ${RESPONSE_TIMEOUT_MS / 1000} s`)),
    );
    asked.once('error', ({ message }) => resolve(message));
    asked.end();
  });
}

const ANY_ADDRESS = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

function portFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EADDRINUSE') resolve('another program has the port');
      else if (code === 'EACCES') resolve('this user may not listen on that port');
      else if (code === 'EADDRNOTAVAIL') resolve('this machine does not have that address');
      else resolve(String(code));
    });
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}
