/** Agents that prove who they are: codes, credentials, and what becomes of them (shared/agent-protocol/README.md). */
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DialRefused } from '@workbench-hub/shared/agent-protocol/dial';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { askToEnroll, besideHub, enrolled, offerCode } from '../support/agent-enrolment.js';
import { Api } from '../support/api.js';
import { eventually } from '../support/eventually.js';
import { FakeAgent } from '../support/fake-agent.js';
import { HandDrivenRuntime } from '../support/hand-driven-runtime.js';
import { LOG_LEVEL } from '../support/memory-log.js';
import { type RunningHub, startHub } from '../support/running-hub.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const NOT_ACCEPTED = 'the code is not accepted: it is good once, for its own agent id, and for a short time';

let hub: RunningHub;
let dataDir: string;
const agents: FakeAgent[] = [];
beforeAll(async () => {
  hub = await startHub();
  dataDir = hub.config.dataDir;
});
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.leave();
});
afterAll(() => hub.stop());

/** Joins under this id with whatever it has to show. */
async function joined(id: string, token: string): Promise<FakeAgent> {
  const agent = await FakeAgent.join({ ...hub, token }, { id, instances: [] });
  agents.push(agent);
  return agent;
}

/** What a dial is answered with. */
async function dialStatus(token: string): Promise<number> {
  const outcome = await FakeAgent.connect({ ...hub, token }, { id: 'any', instances: [] }).catch(
    (error: unknown) => error,
  );
  if (outcome instanceof DialRefused) return outcome.status;
  throw new Error('the dial was not refused', { cause: outcome });
}

/** Why the hub has refused somebody, the latest last. */
function refusals(): unknown[] {
  return hub.log
    .filter(({ level, msg }) => level === LOG_LEVEL.WARN && msg === 'an agent was refused')
    .map(({ reason }) => reason);
}

/** Why connections ended whose agent had not joined. */
function endedBeforeJoin(): unknown[] {
  return hub.log
    .filter(({ msg }) => msg === 'a connection of an agent ended before it joined')
    .map(({ reason }) => reason);
}

async function fileStatus(token: string, path = 'a'.repeat(64)): Promise<number> {
  const response = await fetch(`${hub.address}${AGENT_PATHS.FILES}/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await response.text();
  return response.status;
}

const HOUR_MS = 3_600_000;

const enrolment = (agentId: string, code: string) => JSON.stringify({ agentId, code });

describe('a code', () => {
  it('gives the agent a credential, with which it joins and moves files', async () => {
    const code = offerCode(dataDir, 'host-1');
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){6}[0-9A-HJKMNP-TV-Z]{4}$/);
    const { status, text } = await askToEnroll(hub.address, enrolment('host-1', code));
    expect(status).toBe(200);
    const { credential } = JSON.parse(text) as { credential: string };
    expect(credential).toMatch(/^wba_[\w-]{43}$/);
    const agent = await joined('host-1', credential);
    const { digest } = await agent.upload('a file');
    expect(await (await agent.file(digest)).text()).toBe('a file');
    await eventually(() => besideHub(dataDir, (credentials) => credentials.all()[0]?.joinedAtMs !== null));
    expect(besideHub(dataDir, (credentials) => credentials.all())).toMatchObject([
      {
        agentId: 'host-1',
        revokedAtMs: null,
        enrolledAtMs: expect.any(Number),
        joinedAtMs: expect.any(Number),
      },
    ]);
  });

  it('may be typed in small letters and without its dashes', async () => {
    const code = offerCode(dataDir, 'typed').toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o');
    expect((await askToEnroll(hub.address, enrolment('typed', code))).status).toBe(200);
  });

  it('and a credential are kept as hashes only, in files of this user, and never logged', async () => {
    const code = offerCode(dataDir, 'hashed');
    const { text } = await askToEnroll(hub.address, enrolment('hashed', code));
    const { credential } = JSON.parse(text) as { credential: string };
    const open = offerCode(dataDir, 'hashed');
    const names = (await readdir(dataDir)).filter((name) => name.startsWith('accounts.sqlite'));
    expect(names).toContain('accounts.sqlite');
    for (const name of names) {
      const bytes = await readFile(join(dataDir, name), 'latin1');
      for (const secret of [code, credential, open]) expect(bytes.includes(secret)).toBe(false);
      expect((await stat(join(dataDir, name))).mode & 0o077, name).toBe(0);
    }
    for (const secret of [code, credential, open]) expect(JSON.stringify(hub.log)).not.toContain(secret);
  });

  it.each<[string, () => Promise<[string, string]> | [string, string], string]>([
    ['that was never made', () => ['ghost', '0000-0000-0000-0000-0000-0000-0000'], 'there is no such code'],
    ['of another agent', () => ['thief', offerCode(dataDir, 'owner')], 'the code is that of agent owner'],
    ['that has expired', () => ['late', offerCode(dataDir, 'late', -1)], 'the code has expired'],
    [
      'that was used',
      async () => {
        const code = offerCode(dataDir, 'twice');
        await askToEnroll(hub.address, enrolment('twice', code));
        return ['twice', code];
      },
      'the code was used before',
    ],
    [
      'that a later one replaced',
      () => {
        const code = offerCode(dataDir, 'changed');
        offerCode(dataDir, 'changed');
        return ['changed', code];
      },
      'there is no such code',
    ],
    [
      'that was revoked',
      () => {
        const code = offerCode(dataDir, 'unwanted');
        expect(besideHub(dataDir, (credentials) => credentials.revoke('unwanted'))).toBe(true);
        return ['unwanted', code];
      },
      'there is no such code',
    ],
  ])('%s is answered with the same 401, and the log says why', async (_, made, why) => {
    const [agentId, code] = await made();
    const { status, text } = await askToEnroll(hub.address, enrolment(agentId, code));
    expect(status).toBe(401);
    expect(JSON.parse(text)).toMatchObject({ status: 401, message: NOT_ACCEPTED, path: '/agent/enroll' });
    expect(refusals().at(-1)).toContain(`enrolment of agent ${agentId}: ${why}`);
    expect(JSON.stringify(hub.log)).not.toContain(code);
  });

  it('that two use at once is good for one of them', async () => {
    const code = offerCode(dataDir, 'raced');
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => askToEnroll(hub.address, enrolment('raced', code))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 401),
    ]);
  });

  it('spares the credential of before until the new one is fetched, which then ends', async () => {
    const first = await enrolled(hub, 'again');
    const code = offerCode(dataDir, 'again');
    const agent = await joined('again', first);
    const { text } = await askToEnroll(hub.address, enrolment('again', code));
    expect(await agent.closed()).toBe('agent again has fetched a new credential');
    expect(await dialStatus(first)).toBe(401);
    await joined('again', (JSON.parse(text) as { credential: string }).credential);
  });
});

describe('a request for enrolment', () => {
  it.each<[string, string | ReadableStream, number]>([
    ['that is not JSON', 'code=1', 400],
    ['that is empty', '', 400],
    ['without a code', '{"agentId":"host-1"}', 400],
    ['whose code is no text', '{"agentId":"host-1","code":5}', 400],
    ['with a path as id', enrolment('../../etc/passwd', 'x'), 400],
    ['with a line break in its id', enrolment('host\r\nx-admin: 1', 'x'), 400],
    ['with an empty id', enrolment('', 'x'), 400],
    ['with an endless code', enrolment('host-1', 'x'.repeat(201)), 400],
    ['that is too large', enrolment('host-1', 'x'.repeat(10_000_000)), 413],
    ['that is null', 'null', 400],
  ])('%s is refused with its status, and logged', async (_, body, status) => {
    const before = hub.log.length;
    expect((await askToEnroll(hub.address, body)).status).toBe(status);
    const [line] = hub.log.slice(before).filter(({ level }) => level === LOG_LEVEL.WARN);
    expect(line).toMatchObject({ msg: 'a request for enrolment was refused', remoteAddress: '127.0.0.1' });
    expect(hub.log.every(({ level }) => level < LOG_LEVEL.ERROR)).toBe(true);
  });

  it('that does not say how long it is, is read no further than it may be', async () => {
    const answer = await new Promise<number>((resolve, reject) => {
      const outgoing = request(hub.address + AGENT_PATHS.ENROLL, { method: 'POST' }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      outgoing.on('error', reject);
      for (let at = 0; at < 5; at++) outgoing.write(Buffer.alloc(1000, ' '));
    });
    expect(answer).toBe(413);
  });

  it('after thirty wrong codes from an address is a 429 for a while, from that address only', async () => {
    const time = new HandDrivenRuntime();
    const own = await startHub({
      runtime: { ...systemRuntime, clock: time.clock },
      config: { server: { trustedProxies: ['loopback'] } },
    });
    onTestFinished(own.stop);
    const askFrom = (address: string, code: string) =>
      askToEnroll(own.address, enrolment('host-1', code), { 'x-forwarded-for': address });
    for (let at = 0; at < 30; at++) expect((await askFrom('192.0.2.1', `guess-${at}`)).status).toBe(401);

    const code = offerCode(own.config.dataDir, 'host-1', HOUR_MS, time.clock);
    const refused = await askFrom('192.0.2.1', code);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '300']);
    expect(JSON.parse(refused.text)).toMatchObject({
      message: 'too many codes were tried from this address: try again in 300 s',
    });
    expect(own.log.at(-1)).toMatchObject({
      remoteAddress: '192.0.2.1',
      reason: expect.stringMatching(/^too many/),
    });
    expect((await askFrom('192.0.2.2', 'wrong')).status).toBe(401);
    time.skip(5 * 60_000);
    expect((await askFrom('192.0.2.1', code)).status).toBe(200);
  });

  it('by another method is a 405', async () => {
    const response = await fetch(hub.address + AGENT_PATHS.ENROLL);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await response.json()).toMatchObject({ status: 405, message: 'POST only' });
  });

  it('that does not end is given up', async () => {
    const hasty = await startHub({ runtime: hastened(10_000, 50) });
    onTestFinished(() => hasty.stop());
    const socket = await rawConnection(hasty);
    socket.write('POST /agent/enroll HTTP/1.1\r\nHost: hub\r\nContent-Length: 50\r\n\r\n{');
    const [piece] = (await once(socket, 'data')) as [Buffer];
    expect(piece.toString()).toMatch(/^HTTP\/1\.1 408 /);
    await once(socket, 'close');
  });
});

describe('an id', () => {
  it('that is not that of the credential is refused, with the reason on both sides', async () => {
    const credential = await enrolled(hub, 'mine');
    const agent = await FakeAgent.connect({ ...hub, token: credential }, { id: 'yours', instances: [] });
    const message = 'the credential of agent mine is not good for the id yours';
    expect(await agent.hear('refused')).toEqual({ type: 'refused', code: 'AGENT_ID_NOT_PROVEN', message });
    expect(await agent.closed()).toBe('refused');
    expect(refusals().at(-1)).toBe(message);
  });

  it('that has a credential of its own is not taken from those who know the common token only', async () => {
    await enrolled(hub, 'own');
    const agent = await FakeAgent.connect(hub, { id: 'own', instances: [] });
    expect(await agent.hear('refused')).toMatchObject({
      code: 'AGENT_ID_NOT_PROVEN',
      message: expect.stringMatching(/^agent own has been enrolled, .* remove token and tokenFile/),
    });
  });

  it('is the end of a connection by the common token when it gets a credential', async () => {
    const agent = await joined('moving', hub.token);
    await enrolled(hub, 'moving');
    expect(await agent.closed()).toMatch(/^agent moving has been enrolled/);
  });
});

describe('a credential that is revoked', () => {
  it('ends the connection of its agent at once, and is refused from then on, everywhere', async () => {
    const credential = await enrolled(hub, 'lost');
    const agent = await joined('lost', credential);
    expect(await fileStatus(credential)).toBe(404);
    besideHub(dataDir, (credentials) => credentials.revoke('lost'));
    expect(await fileStatus(credential)).toBe(401);
    expect(await agent.closed()).toBe('the credential of agent lost is revoked');
    expect(await dialStatus(credential)).toBe(401);
    expect(refusals().at(-1)).toBe('the credential of agent lost is revoked');
    expect(
      hub.log.some(
        ({ msg, agentId }) => msg === 'the connection of an agent was ended' && agentId === 'lost',
      ),
    ).toBe(true);
  });

  it('does not give its id back to those who know the common token', async () => {
    await enrolled(hub, 'banned');
    besideHub(dataDir, (credentials) => credentials.revoke('banned'));
    const agent = await FakeAgent.connect(hub, { id: 'banned', instances: [] });
    expect(await agent.hear('refused')).toMatchObject({ code: 'AGENT_ID_NOT_PROVEN' });
  });

  it('cannot be revoked again, but be replaced by a new one', async () => {
    await enrolled(hub, 'back');
    expect(besideHub(dataDir, (credentials) => credentials.revoke('back'))).toBe(true);
    expect(besideHub(dataDir, (credentials) => credentials.revoke('back'))).toBe(false);
    await joined('back', await enrolled(hub, 'back'));
  });
});

it('an access token of a user opens nothing beneath /agent/, nor a credential anything else', async () => {
  const secured = await startHub({ users: { anna: ['ADMIN'] } });
  onTestFinished(() => secured.stop());
  const anna = await new Api(secured).asUser('anna');
  const token = anna.token ?? '';
  await expect(FakeAgent.connect({ ...secured, token })).rejects.toMatchObject({ status: 401 });
  const digest = 'a'.repeat(64);
  const statusOf = async (path: string, bearer: string) => {
    const headers = { authorization: `Bearer ${bearer}` };
    const response = await fetch(secured.address + path, { headers });
    await response.text();
    return response.status;
  };
  expect(await statusOf(`${AGENT_PATHS.FILES}/${digest}`, token)).toBe(401);
  const credential = await enrolled(secured, 'host-1');
  expect(await statusOf(`${AGENT_PATHS.FILES}/${digest}`, credential)).toBe(404);
  for (const bearer of [credential, secured.token]) {
    expect(await statusOf('/api/2.0/workbench/task/list', bearer)).toBe(401);
  }
  expect(JSON.stringify(secured.log)).not.toContain(token);
});

it('a credential outlives a restart of the hub, and agents.enrolledOnly switches the common token off', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const first = await startHub({ dataDir: folder.path });
  const credential = await enrolled(first, 'lasting');
  await first.stop();

  const second = await startHub({
    dataDir: folder.path,
    config: { agents: { enrolledOnly: true, token: null } },
  });
  onTestFinished(() => second.stop());
  const agent = await FakeAgent.join({ ...second, token: credential }, { id: 'lasting', instances: [] });
  await expect(FakeAgent.connect({ ...second, token: first.token })).rejects.toMatchObject({ status: 401 });
  expect(await readdir(folder.path)).not.toContain('agent-token');
  await agent.leave();
});

describe('an upgrade to a WebSocket', () => {
  /** The head of the answer, line by line, once the hub has closed the connection. */
  async function answerTo(headers: string, path: string = AGENT_PATHS.CONNECT): Promise<string[]> {
    const socket = await rawConnection(hub);
    let text = '';
    socket.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`,
    );
    await once(socket, 'close');
    return text.split('\r\n');
  }

  it.each<[string, string]>([
    ['without a token', ''],
    ['with an empty token', 'Authorization: Bearer \r\n'],
    ['with a wrong token', 'Authorization: Bearer wrong\r\n'],
    ['with a token that is no bearer token', 'Authorization: Basic dG9rZW4tb2YtdGhlLXRlc3Rz\r\n'],
    [
      'with a token in the shape of a user`s',
      'Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln\r\n',
    ],
    ['with the token in the address', ''],
    ['with a very long token', `Authorization: Bearer ${'x'.repeat(15_000)}\r\n`],
  ])('%s is answered with 401, closed and logged', async (name, headers) => {
    const before = refusals().length;
    const query = name.includes('address') ? `?token=${hub.token}` : '';
    const answer = await answerTo(headers, AGENT_PATHS.CONNECT + query);
    expect(answer[0]).toBe('HTTP/1.1 401 Unauthorized');
    expect(answer).toContain('WWW-Authenticate: Bearer');
    expect(refusals()).toHaveLength(before + 1);
    expect(JSON.stringify(hub.log)).not.toContain(hub.token);
  });

  it.each<[string, string]>([
    ['a header that is folded over lines', 'Authorization: Bearer a\r\n b\r\nX: y\r\n'],
    ['a control character in a header', 'Authorization: Bearer a\u0000b\r\n'],
  ])('with %s is answered with 400 or 401, and closed', async (_, headers) => {
    expect((await answerTo(headers))[0]).toMatch(/^HTTP\/1\.1 40[01] /);
  });

  it('elsewhere, or beneath a path that climbs, is a 404', async () => {
    for (const path of ['/agent/files/../connect', '/agent/../agent/connect']) {
      expect((await answerTo('', path))[0]).toBe('HTTP/1.1 404 Not Found');
    }
  });

  it('that is refused leaves no connection behind, even when more is sent', async () => {
    const socket = await rawConnection(hub);
    socket.on('error', () => undefined);
    socket.write(
      `GET ${AGENT_PATHS.CONNECT} HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    );
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    const more = () => {
      if (!socket.destroyed && socket.write(Buffer.alloc(65_536))) setImmediate(more);
      else socket.once('drain', more);
    };
    more();
    await closed;
  });

  it('whose first message has 100 MB is closed with 1009 before the message is taken in', async () => {
    const socket = await rawConnection(hub);
    socket.write(
      `GET ${AGENT_PATHS.CONNECT} HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
        `Authorization: Bearer ${hub.token}\r\n\r\n`,
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 101 /);
    const answer = once(socket, 'data') as Promise<[Buffer]>;
    const length = 100_000_000;
    // Text, final, masked with zeros, and the length in 64 bits.
    const frame = Buffer.alloc(14);
    frame.set([0x81, 0xff]);
    frame.writeBigUInt64BE(BigInt(length), 2);
    socket.write(frame);
    const before = process.memoryUsage();
    const chunk = Buffer.alloc(1_000_000, 0x20);
    for (let sent = 0; sent < length && !socket.destroyed; sent += chunk.length) {
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    }
    const [close] = await answer;
    // Close frame: its code follows the two bytes of its head.
    expect([close[0], close.readUInt16BE(2)]).toEqual([0x88, 1009]);
    const after = process.memoryUsage();
    const grown = after.external + after.arrayBuffers - before.external - before.arrayBuffers;
    expect(grown).toBeLessThan(50_000_000);
    socket.destroy();
    await eventually(() => endedBeforeJoin().includes('Max payload size exceeded'));
  });

  it('whose first message comes in endless pieces is closed with 1009, too', async () => {
    const socket = new WebSocket(hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT, {
      headers: { authorization: `Bearer ${hub.token}` },
      perMessageDeflate: false,
    });
    await once(socket, 'open');
    socket.on('error', () => undefined);
    const closed = once(socket, 'close') as Promise<[number]>;
    const piece = ' '.repeat(1_000_000);
    for (let sent = 0; sent < 20 && socket.readyState === WebSocket.OPEN; sent++) {
      await new Promise<void>((resolve) => socket.send(piece, { fin: false }, () => resolve()));
    }
    expect((await closed)[0]).toBe(1009);
  });

  it('whose first message is none is closed with 1002, and logged with the reason', async () => {
    const socket = new WebSocket(hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT, {
      headers: { authorization: `Bearer ${hub.token}` },
    });
    await once(socket, 'open');
    const closed = once(socket, 'close') as Promise<[number]>;
    socket.send('hello');
    expect((await closed)[0]).toBe(1002);
    await eventually(() => endedBeforeJoin().includes('protocol error: a frame that is not JSON'));
  });
});

async function rawConnection({ address }: RunningHub): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** The machine's runtime, with one delay that is shorter. */
function hastened(delayMs: number, insteadMs: number): Runtime {
  const { timers } = systemRuntime;
  return {
    ...systemRuntime,
    timers: {
      soon: timers.soon,
      after: (ms, action) => timers.after(ms === delayMs ? insteadMs : ms, action),
    },
  };
}
