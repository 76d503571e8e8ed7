/** Hubs with TLS, and clients and agents that connect to them. */
import { once } from 'node:events';
import { type Agent, request } from 'node:https';
import { connect as connectBare, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type DialTls, dial } from '@workbench-hub/shared/agent-protocol/dial';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.js';
import { type Authority, authority, type CertificateFiles } from './certificates.js';
import { type HubSetup, type RunningHub, startHub } from './running-hub.js';

export let folder: TemporaryFolder;
export let ca: Authority;
export let otherCa: Authority;
export let server: CertificateFiles;
const hubs: RunningHub[] = [];

/** Registers the hooks; call it once at the top of the file. */
export function tlsForAllTests(): void {
  beforeAll(async () => {
    folder = await temporaryFolder();
    [ca, otherCa] = await Promise.all([authority(folder.path, 'ours'), authority(folder.path, 'theirs')]);
    server = await ca.issue({ name: 'hub', hosts: ['127.0.0.1', 'localhost'] });
  });
  afterEach(async () => {
    await Promise.all(hubs.splice(0).map((hub) => hub.stop()));
  });
  afterAll(() => folder.remove());
}

export async function startTlsHub(tls: object = {}, rest: HubSetup = {}): Promise<RunningHub> {
  const hub = await startHub({ ...rest, config: { server: { tls: { ...server, agentCa: null, ...tls } } } });
  hubs.push(hub);
  return hub;
}

interface Asked {
  readonly status: number;
  readonly text: string;
}

export function ask(
  hub: RunningHub,
  path: string,
  {
    tls = {},
    method = 'GET',
    headers = {},
    body = '' as string | Buffer,
    agent = undefined as Agent | undefined,
  } = {},
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const options = {
      ca: ca.pem,
      method,
      headers,
      ...(agent ? { agent } : { agent: false as const }),
      ...tls,
    };
    const outgoing = request(hub.address + path, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

export function dialHub(hub: RunningHub, tls: DialTls = { ca: ca.pem }, token = hub.token) {
  const url = hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT;
  const handlers = { onFrame: () => undefined, onClose: () => undefined };
  return dial({ url, token, tls, handshakeTimeoutMs: 10_000 }, handlers);
}

export async function secured(hub: RunningHub, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({
    port: Number(new URL(hub.address).port),
    host: '127.0.0.1',
    ca: ca.pem,
    ...options,
  });
  await once(socket, 'secureConnect');
  return socket;
}

export async function bare(hub: RunningHub): Promise<Socket> {
  const socket = connectBare(Number(new URL(hub.address).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

export const closed = (socket: Socket) =>
  new Promise<void>((resolve) => socket.once('close', () => resolve()));
