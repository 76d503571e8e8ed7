/** Certificates of a hub that are renewed, and certificates of agents. */
import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DialTls } from '@workbench-hub/shared/agent-protocol/dial';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { describe, expect, it } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import type { CertificateFiles } from '../support/hubs/certificates.js';
import type { RunningHub } from '../support/hubs/running-hub.js';
import {
  ask,
  ca,
  dialHub,
  folder,
  otherCa,
  secured,
  server,
  startTlsHub,
  tlsForAllTests,
} from '../support/hubs/tls-hub.js';
import { LOG_LEVEL } from '../support/memory-log.js';

tlsForAllTests();

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

  /** A server on PostgreSQL seems to respond late in a time that runs as fast as this one. */
  const errors = () =>
    hub.log
      .filter(({ level }) => level === LOG_LEVEL.ERROR)
      .map(({ msg }) => msg)
      .filter((msg) => !msg.startsWith('the database is away'));

  it('that is invalid is logged once, and the former one stays in use until there is a valid one', async () => {
    await start();
    await writeFile(files.cert, 'half a certif');
    for (let at = 0; at < 3; at++) {
      await runtime.advance(LOOK_EVERY_MS);
      await eventually(() => errors().length > 0);
    }
    expect(await nameShown()).toBe('hub');
    expect(errors()).toEqual([
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
