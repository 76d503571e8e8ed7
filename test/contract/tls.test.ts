/** TLS on the one port of the hub: REST, agents and their files, and certificates that are renewed. */
import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { Agent, get, request } from 'node:https';
import { connect as connectBare, type Socket } from 'node:net';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type DialTls, dial } from '@workbench-hub/shared/agent-protocol/dial';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Authority, authority, type CertificateFiles } from '../support/certificates.js';
import { eventually } from '../support/eventually.js';
import { HandDrivenRuntime } from '../support/hand-driven-runtime.js';
import { LOG_LEVEL } from '../support/memory-log.js';
import { type HubSetup, type RunningHub, startHub } from '../support/running-hub.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let ca: Authority;
let otherCa: Authority;
let server: CertificateFiles;
const hubs: RunningHub[] = [];

beforeAll(async () => {
  folder = await temporaryFolder();
  [ca, otherCa] = await Promise.all([authority(folder.path, 'ours'), authority(folder.path, 'theirs')]);
  server = await ca.issue({ name: 'hub', hosts: ['127.0.0.1', 'localhost'] });
});
afterEach(async () => {
  await Promise.all(hubs.splice(0).map((hub) => hub.stop()));
});
afterAll(() => folder.remove());

async function startTlsHub(tls: object = {}, rest: HubSetup = {}): Promise<RunningHub> {
  const hub = await startHub({ ...rest, config: { server: { tls: { ...server, agentCa: null, ...tls } } } });
  hubs.push(hub);
  return hub;
}

interface Asked {
  readonly status: number;
  readonly text: string;
}

function ask(
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

function dialHub(hub: RunningHub, tls: DialTls = { ca: ca.pem }, token = hub.token) {
  const url = hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT;
  const handlers = { onFrame: () => undefined, onClose: () => undefined };
  return dial({ url, token, tls, handshakeTimeoutMs: 10_000 }, handlers);
}

async function secured(hub: RunningHub, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({
    port: Number(new URL(hub.address).port),
    host: '127.0.0.1',
    ca: ca.pem,
    ...options,
  });
  await once(socket, 'secureConnect');
  return socket;
}

async function bare(hub: RunningHub): Promise<Socket> {
  const socket = connectBare(Number(new URL(hub.address).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));

describe('a hub with a certificate', () => {
  it('speaks HTTPS and WSS on its one port', async () => {
    const hub = await startTlsHub();
    expect(hub.address).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await ask(hub, '/livez')).toMatchObject({ status: 200, text: '{"status":"UP"}' });
    const headers = { authorization: `Bearer ${hub.token}` };
    expect(await ask(hub, `${AGENT_PATHS.FILES}/${'a'.repeat(64)}`, { headers })).toMatchObject({
      status: 404,
    });
    const transport = await dialHub(hub);
    transport.terminate();
  });

  it.each<['TLSv1.1' | 'TLSv1.2' | 'TLSv1.3', boolean]>([
    ['TLSv1.1', false],
    ['TLSv1.2', true],
    ['TLSv1.3', true],
  ])('and %s: %j', async (version, works) => {
    const hub = await startTlsHub();
    const options: ConnectionOptions = {
      minVersion: version,
      maxVersion: version,
      ciphers: 'DEFAULT@SECLEVEL=0',
    };
    const outcome = await secured(hub, options).then(
      (socket) => {
        socket.destroy();
        return true;
      },
      () => false,
    );
    expect(outcome).toBe(works);
  });

  it('closes the connection of a client that speaks plain HTTP, without a log line', async () => {
    const hub = await startTlsHub();
    const { port } = new URL(hub.address);
    const outcome = await new Promise((resolve) => {
      const outgoing = httpRequest({ port, host: '127.0.0.1', path: '/livez' }, () => resolve('an answer'));
      outgoing.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      outgoing.end();
    });
    expect(outcome).not.toBe('an answer');
    const socket = await bare(hub);
    socket.on('error', () => undefined);
    socket.write(Buffer.alloc(10_000, 'rubbish'));
    await closed(socket);
    expect((await ask(hub, '/livez')).status).toBe(200);
    await eventually(() => hub.log.some(({ msg }) => msg === 'a TLS handshake failed'));
    expect(hub.log.filter(({ level }) => level >= LOG_LEVEL.WARN)).toEqual([]);
  });

  it('answers malformed requests inside TLS with 400, as it does without TLS', async () => {
    const hub = await startTlsHub();
    const socket = await secured(hub);
    socket.write('rubbish\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
    await closed(socket);
  });

  it('ignores an Upgrade offer, and keeps the connection', async () => {
    const hub = await startTlsHub();
    const socket = await secured(hub);
    let text = '';
    socket.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    const offer =
      'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n';
    for (let at = 1; at <= 2; at++) {
      socket.write(offer);
      await eventually(() => text.split('HTTP/1.1 200').length === at + 1);
    }
    socket.destroy();
  });

  it('stops without waiting for idle connections or unfinished handshakes', async () => {
    const hub = await startTlsHub();
    const silent = await bare(hub);
    const unused = await secured(hub);
    const kept = await secured(hub);
    kept.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(kept, 'data');
    for (const socket of [silent, unused, kept]) socket.on('error', () => undefined).resume();
    const began = performance.now();
    const ends = [silent, unused, kept].map(closed);
    await hub.stop();
    await Promise.all(ends);
    expect(performance.now() - began).toBeLessThan(4000);
  });

  it('finishes requests in progress when it stops', async () => {
    const hub = await startTlsHub();
    const create = await ask(hub, '/api/2.0/workbench/task/simulate-work/create', {
      method: 'POST',
      body: '{"duration":1}',
    });
    const { id } = JSON.parse(create.text) as { id: string };
    const waiting = ask(hub, `/api/2.0/workbench/task/simulate-work/${id}/result?timeout=60`);
    const agent = new Agent({ keepAlive: true });
    await ask(hub, '/livez', { agent });
    await ask(hub, '/readyz', { agent });
    await hub.stop();
    agent.destroy();
    expect(JSON.parse((await waiting).text)).toMatchObject({ status: 'WAITING' });
  });
});

describe('the start of a hub with TLS', () => {
  async function refusal(tls: object): Promise<string> {
    const outcome = await startTlsHub(tls).catch((error: unknown) => error);
    if (outcome instanceof StartRefused) return outcome.message;
    throw new Error('the start was not refused', { cause: outcome });
  }

  it('is refused with the setting and the file when a file is missing', async () => {
    for (const setting of ['cert', 'key', 'agentCa']) {
      const file = join(folder.path, 'nowhere.pem');
      expect(await refusal({ [setting]: file })).toBe(
        `server.tls.${setting}: ${file}: there is no such file`,
      );
    }
  });

  it('is refused when key and certificate do not match, or are invalid', async () => {
    const { key, cert } = await ca.issue({ name: 'another', hosts: ['localhost'] });
    expect(await refusal({ key })).toContain(
      `server.tls.key: ${key} is not the key of the certificate in server.tls.cert (${server.cert})`,
    );
    expect(await refusal({ cert: key })).toBe(`server.tls.cert: ${key} holds no certificate in PEM`);
    expect(await refusal({ key: cert })).toContain(`server.tls.key: ${cert}`);
    expect(await refusal({ agentCa: key })).toBe(`server.tls.agentCa: ${key} holds no certificate in PEM`);
  });
});

describe('a renewed certificate', () => {
  const LOOK_EVERY_MS = 60_000;
  let files: CertificateFiles;
  let runtime: HandDrivenRuntime;
  let hub: RunningHub;

  async function put({ cert, key }: CertificateFiles): Promise<void> {
    await copyFile(cert, files.cert);
    await copyFile(key, files.key);
  }

  async function nameShown(): Promise<unknown> {
    const socket = await secured(hub, { rejectUnauthorized: false });
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  }

  async function start(): Promise<void> {
    files = { cert: join(folder.path, 'live.pem'), key: join(folder.path, 'live.key') };
    await put(server);
    runtime = new HandDrivenRuntime();
    hub = await startTlsHub(files, { runtime });
  }

  it('is used without a restart, and open connections stay', async () => {
    await start();
    const before = await secured(hub);
    await put(await ca.issue({ name: 'renewed', hosts: ['127.0.0.1'] }));
    expect(await nameShown()).toBe('hub');
    await runtime.advance(LOOK_EVERY_MS);
    await eventually(async () => (await nameShown()) === 'renewed');
    before.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(String(await once(before, 'data'))).toContain('200 OK');
    before.destroy();
  });

  it('that is invalid is logged once, and the former one stays in use until there is a valid one', async () => {
    await start();
    await writeFile(files.cert, 'half a certif');
    for (let at = 0; at < 3; at++) {
      await runtime.advance(LOOK_EVERY_MS);
      await eventually(() => hub.log.some(({ level }) => level === LOG_LEVEL.ERROR));
    }
    expect(await nameShown()).toBe('hub');
    const errors = hub.log.filter(({ level }) => level === LOG_LEVEL.ERROR).map(({ msg }) => msg);
    expect(errors).toEqual([
      `the former certificate stays in use: server.tls.cert: ${files.cert} holds no certificate in PEM`,
    ]);
    await put(await ca.issue({ name: 'good', hosts: ['127.0.0.1'] }));
    await eventually(async () => {
      await runtime.advance(LOOK_EVERY_MS);
      return (await nameShown()) === 'good';
    });
  });
});

describe('a hub that requires certificates of agents', () => {
  let hub: RunningHub;
  let own: DialTls;
  async function pem({ cert, key }: CertificateFiles): Promise<DialTls> {
    return { ca: ca.pem, cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
  }
  async function start(): Promise<void> {
    hub = await startTlsHub({ agentCa: ca.file });
    own = await pem(await ca.issue({ name: 'agent' }));
  }
  const FILE = `${AGENT_PATHS.FILES}/${'a'.repeat(64)}`;

  it('admits an agent with a certificate and its token', async () => {
    await start();
    (await dialHub(hub, own)).terminate();
    await expect(dialHub(hub, own, 'wrong')).rejects.toMatchObject({ status: 401 });
    const headers = { authorization: `Bearer ${hub.token}` };
    expect((await ask(hub, FILE, { tls: own, headers })).status).toBe(404);
    expect((await ask(hub, AGENT_PATHS.ENROLL, { tls: own, method: 'POST', body: '{}' })).status).toBe(400);
  });

  it('requires no certificate at the REST interface', async () => {
    await start();
    expect((await ask(hub, '/livez')).status).toBe(200);
    expect((await ask(hub, '/api/2.0/workbench/task/list')).status).toBe(200);
  });

  it.each<[string, () => Promise<DialTls>, RegExp]>([
    ['no certificate', async () => ({ ca: ca.pem }), /^it shows no client certificate/],
    [
      'a certificate of another authority',
      async () => pem(await otherCa.issue({ name: 'stranger' })),
      /^its client certificate is not accepted \(UNABLE_TO/,
    ],
    [
      'an expired certificate',
      async () => pem(await ca.issue({ name: 'old', expired: true })),
      /^its client certificate is not accepted \(CERT_HAS_EXPIRED\)/,
    ],
    [
      'a certificate for servers',
      () => pem(server),
      /^its client certificate is not accepted \(INVALID_PURPOSE\)/,
    ],
  ])('refuses an agent that shows %s with 401, and logs it', async (_, shown, why) => {
    await start();
    const tls = await shown();
    const refused = () =>
      hub.log
        .filter(({ level, msg }) => level === LOG_LEVEL.WARN && msg === 'an agent was refused')
        .map(({ reason }) => String(reason));
    await expect(dialHub(hub, tls)).rejects.toMatchObject({ status: 401 });
    const headers = { authorization: `Bearer ${hub.token}` };
    expect((await ask(hub, FILE, { tls, headers })).status).toBe(401);
    expect((await ask(hub, AGENT_PATHS.ENROLL, { tls, method: 'POST', body: '{}' })).status).toBe(401);
    expect(refused()).toHaveLength(3);
    for (const reason of refused()) expect(reason).toMatch(why);
  });

  it('does not accept a resumed TLS session as a certificate', async () => {
    await start();
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const first = await secured(hub, { maxVersion: version });
      let ticket: Buffer | undefined = first.getSession();
      first.on('session', (later: Buffer) => {
        ticket = later;
      });
      first.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(first, 'data');
      first.destroy();
      const again = await secured(hub, { maxVersion: version, ...(ticket ? { session: ticket } : {}) });
      expect(again.isSessionReused()).toBe(true);
      again.write(
        `GET ${FILE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${hub.token}\r\nConnection: close\r\n\r\n`,
      );
      const [answer] = (await once(again, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /);
      again.destroy();
    }
  });
});

it('a client that does not trust the authority of the hub sends no request', async () => {
  const hub = await startTlsHub();
  const untrusting = new Promise((resolve) => {
    get(`${hub.address}/livez`, { ca: otherCa.pem, agent: false }).once(
      'error',
      (error: NodeJS.ErrnoException) => resolve(error.code),
    );
  });
  expect(await untrusting).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  await expect(dialHub(hub, { ca: otherCa.pem })).rejects.toMatchObject({
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  });
  await expect(dialHub(hub, {})).rejects.toMatchObject({ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
});
