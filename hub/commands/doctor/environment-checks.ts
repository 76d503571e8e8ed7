/** What is around the data: the certificate, the keys, the port and the hub behind it, and the clocks of the agents. */
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type HubConfig, tasksFileOf } from '../../config.js';
import { storageKey } from '../../security/storage-key.js';
import { openTlsFiles } from '../../security/tls-files.js';
import { lockDatabase } from '../../store/sqlite/database.js';
import { agentClocks } from '../../store/sqlite/snapshot.js';
import { type Finding, fault, ok, warning } from './finding.js';

const DAY_MS = 86_400_000;
const RENEW_BEFORE_MS = 21 * DAY_MS;

/** A message that is under way for some time makes a clock look slow. */
const MAX_OFFSET_MS = 5000;

const ANSWER_WITHIN_MS = 5000;

export async function checkStorageKey(config: HubConfig): Promise<Finding[]> {
  const { dataDir, storage } = config;
  // Whoever asks for a key that is not there has one made.
  if (storage.encryptionKey === null && !existsSync(join(dataDir, 'storage-key'))) {
    return [
      warning(
        'storage key',
        'there is none',
        'if files were encrypted before, restore it from a backup; else the next start makes one',
      ),
    ];
  }
  try {
    await storageKey(storage.encryptionKey, dataDir);
    return [ok('storage key', 'it can be used')];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [fault('storage key', error.message, 'correct its rights, or restore it from a backup')];
  }
}

export async function checkCertificate({ server }: HubConfig, clock: Clock): Promise<Finding[]> {
  const check = 'certificate';
  if (server.tls === null) return [ok(check, 'the hub has no TLS of its own')];
  try {
    const { content } = await openTlsFiles(server.tls);
    const { validFrom, validTo, subject } = new X509Certificate(content.cert as string);
    const [validFromDate, validToDate] = [new Date(validFrom), new Date(validTo)];
    const nowMs = clock.nowMs();
    const until = validToDate.toISOString();
    const advice = `renew ${server.tls.cert} and its key; the hub takes them within a minute`;
    if (validFromDate.getTime() > nowMs) {
      return [fault(check, `that of ${subject} is not valid before ${validFromDate.toISOString()}`, advice)];
    }
    if (validToDate.getTime() <= nowMs)
      return [fault(check, `that of ${subject} expired at ${until}`, advice)];
    if (validToDate.getTime() - nowMs < RENEW_BEFORE_MS) {
      return [warning(check, `that of ${subject} expires at ${until}`, advice)];
    }
    return [ok(check, `that of ${subject} is valid until ${until}`)];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [fault(check, error.message, 'correct server.tls')];
  }
}

/** Whether a hub has this dataDir, whether it answers, and else whether its port is free. */
export async function checkHub(config: HubConfig): Promise<Finding[]> {
  const check = 'hub';
  const { host, port } = config.server;
  if (runs(config)) {
    if (port === 0) return [ok(check, 'a hub runs on this dataDir, at a port of its own choice')];
    const answer = await readiness(config);
    if (answer === 200) return [ok(check, `a hub runs on this dataDir and answers on port ${port}`)];
    const what = typeof answer === 'number' ? `answers /readyz with ${answer}` : `does not answer: ${answer}`;
    return [
      fault(
        check,
        `a hub runs on this dataDir, but port ${port} ${what}`,
        'look into the log of the hub; restart it',
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
      `"ss -ltnp" tells which program has the port; or set another server.port`,
    ),
  ];
}

export function checkClocks(config: HubConfig): Finding[] {
  const check = 'clocks of agents';
  const known = agentClocks(tasksFileOf(config));
  const wrong = known.filter(({ offsetMs }) => Math.abs(offsetMs) > MAX_OFFSET_MS);
  if (wrong.length === 0)
    return [ok(check, `${known.length} agents have told theirs, none of them is far off`)];
  return wrong.map(({ agentId, offsetMs }) =>
    warning(
      check,
      `that of ${agentId} was ${(Math.abs(offsetMs) / 1000).toFixed(0)} s ${offsetMs > 0 ? 'ahead' : 'behind'} when it last joined`,
      'have both hosts synchronised (chronyd, systemd-timesyncd): logs cannot be compared, and certificates may seem expired',
    ),
  );
}

function runs(config: HubConfig): boolean {
  const file = tasksFileOf(config);
  // Looking at the lock would make it, for whoever runs this.
  if (!existsSync(`${file}-lock`)) return false;
  try {
    lockDatabase(file).release();
    return false;
  } catch (error) {
    if (error instanceof StartRefused) return true;
    throw error;
  }
}

/** The status, or why there is none. Whose certificate it is does not matter here. */
function readiness({ server }: HubConfig): Promise<number | string> {
  const host = ANY_ADDRESS.get(server.host) ?? server.host;
  const options = { host, port: server.port, path: '/readyz', timeout: ANSWER_WITHIN_MS };
  return new Promise((resolve) => {
    const asked = server.tls ? tlsRequest({ ...options, rejectUnauthorized: false }) : request(options);
    asked.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.once('timeout', () => asked.destroy(new Error(`nothing came within ${ANSWER_WITHIN_MS / 1000} s`)));
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
