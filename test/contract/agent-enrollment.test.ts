/** Enrollment of agents: codes, and the requests that use them (shared/agent-protocol/README.md). */
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { askToEnroll, besideHub, enrolled, offerCode } from '../support/agents/agent-enrollment.js';
import {
  agentsAtOneHub,
  dataDir,
  dialStatus,
  hub,
  joined,
  rawConnection,
  refusals,
} from '../support/agents/agents-at-one-hub.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { startHub } from '../support/hubs/running-hub.js';
import { LOG_LEVEL } from '../support/memory-log.js';
import { keptInStore } from '../support/stores/tested-store.js';

const NOT_ACCEPTED = 'the code is not accepted: it is good once, for its own agent id, and for a short time';
const HOUR_MS = 3_600_000;

const enrollment = (agentId: string, code: string) => JSON.stringify({ agentId, code });

agentsAtOneHub();

describe('an enrollment code', () => {
  it('is exchanged for a credential, with which the agent joins and transfers files', async () => {
    const code = await offerCode(dataDir, 'host-1');
    expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){6}[0-9A-HJKMNP-TV-Z]{4}$/);
    const { status, text } = await askToEnroll(hub.address, enrollment('host-1', code));
    expect(status).toBe(200);
    const { credential } = JSON.parse(text) as { credential: string };
    expect(credential).toMatch(/^wba_[\w-]{43}$/);
    const agent = await joined('host-1', credential);
    const { digest } = await agent.upload('a file');
    expect(await (await agent.file(digest)).text()).toBe('a file');
    await eventually(
      async () => (await besideHub(dataDir, (credentials) => credentials.all()))[0]?.joinedAtMs !== null,
    );
    expect(await besideHub(dataDir, (credentials) => credentials.all())).toMatchObject([
      {
        agentId: 'host-1',
        revokedAtMs: null,
        enrolledAtMs: expect.any(Number),
        joinedAtMs: expect.any(Number),
      },
    ]);
  });

  it('is accepted in lower case and without dashes', async () => {
    const code = (await offerCode(dataDir, 'typed')).toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o');
    expect((await askToEnroll(hub.address, enrollment('typed', code))).status).toBe(200);
  });

  it('and a credential are stored as hashes only, in files of this user, and never logged', async () => {
    const code = await offerCode(dataDir, 'hashed');
    const { text } = await askToEnroll(hub.address, enrollment('hashed', code));
    const { credential } = JSON.parse(text) as { credential: string };
    const open = await offerCode(dataDir, 'hashed');
    const names = (await readdir(dataDir)).filter((name) => /^(accounts|database)/.test(name));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect((await stat(join(dataDir, name))).mode & 0o077, name).toBe(0);
    const kept = await keptInStore(dataDir);
    expect(kept).toContain('hashed');
    for (const secret of [code, credential, open]) {
      expect(kept).not.toContain(secret);
      expect(JSON.stringify(hub.log)).not.toContain(secret);
    }
  });

  it.each<[string, () => Promise<[string, string]> | [string, string], string]>([
    ['that was never made', () => ['ghost', '0000-0000-0000-0000-0000-0000-0000'], 'there is no such code'],
    [
      'of another agent',
      async () => ['thief', await offerCode(dataDir, 'owner')],
      'the code is that of agent owner',
    ],
    ['that has expired', async () => ['late', await offerCode(dataDir, 'late', -1)], 'the code has expired'],
    [
      'that was used',
      async () => {
        const code = await offerCode(dataDir, 'twice');
        await askToEnroll(hub.address, enrollment('twice', code));
        return ['twice', code];
      },
      'the code was used before',
    ],
    [
      'that a later one replaced',
      async () => {
        const code = await offerCode(dataDir, 'changed');
        await offerCode(dataDir, 'changed');
        return ['changed', code];
      },
      'there is no such code',
    ],
    [
      'that was revoked',
      async () => {
        const code = await offerCode(dataDir, 'unwanted');
        expect(await besideHub(dataDir, (credentials) => credentials.revoke('unwanted'))).toBe(true);
        return ['unwanted', code];
      },
      'there is no such code',
    ],
  ])('%s is answered with the same 401, and the log says why', async (_, made, why) => {
    const [agentId, code] = await made();
    const { status, text } = await askToEnroll(hub.address, enrollment(agentId, code));
    expect(status).toBe(401);
    expect(JSON.parse(text)).toMatchObject({ status: 401, message: NOT_ACCEPTED, path: '/agent/enroll' });
    expect(refusals().at(-1)).toContain(`enrollment of agent ${agentId}: ${why}`);
    expect(JSON.stringify(hub.log)).not.toContain(code);
  });

  it('used twice at once succeeds once', async () => {
    const code = await offerCode(dataDir, 'raced');
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => askToEnroll(hub.address, enrollment('raced', code))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 401),
    ]);
  });

  it('leaves the previous credential valid until the new one is fetched', async () => {
    const first = await enrolled(hub, 'again');
    const code = await offerCode(dataDir, 'again');
    const agent = await joined('again', first);
    const { text } = await askToEnroll(hub.address, enrollment('again', code));
    expect(await agent.closed()).toBe('agent again has fetched a new credential');
    expect(await dialStatus(first)).toBe(401);
    await joined('again', (JSON.parse(text) as { credential: string }).credential);
  });
});

describe('a request for enrollment', () => {
  it.each<[string, string | ReadableStream, number]>([
    ['that is not JSON', 'code=1', 400],
    ['that is empty', '', 400],
    ['without a code', '{"agentId":"host-1"}', 400],
    ['whose code is no text', '{"agentId":"host-1","code":5}', 400],
    ['with a path as id', enrollment('../../etc/passwd', 'x'), 400],
    ['with a line break in its id', enrollment('host\r\nx-admin: 1', 'x'), 400],
    ['with an empty id', enrollment('', 'x'), 400],
    ['with an endless code', enrollment('host-1', 'x'.repeat(201)), 400],
    ['that is too large', enrollment('host-1', 'x'.repeat(10_000_000)), 413],
    ['that is null', 'null', 400],
  ])('%s is refused with its status, and logged', async (_, body, status) => {
    const before = hub.log.length;
    expect((await askToEnroll(hub.address, body)).status).toBe(status);
    const [line] = hub.log.slice(before).filter(({ level }) => level === LOG_LEVEL.WARN);
    expect(line).toMatchObject({ msg: 'an agent was refused', remoteAddress: '127.0.0.1' });
    expect(hub.log.every(({ level }) => level < LOG_LEVEL.ERROR)).toBe(true);
  });

  it('of unknown length is read only up to the limit', async () => {
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

  it('after thirty wrong codes from an address is answered with 429 for a while, for that address only', async () => {
    const time = new HandDrivenRuntime();
    const own = await startHub({
      runtime: { ...systemRuntime, clock: time.clock },
      config: { server: { trustedProxies: ['loopback'] } },
    });
    onTestFinished(own.stop);
    const askFrom = (address: string, code: string) =>
      askToEnroll(own.address, enrollment('host-1', code), { 'x-forwarded-for': address });
    for (let at = 0; at < 30; at++) expect((await askFrom('192.0.2.1', `guess-${at}`)).status).toBe(401);

    const code = await offerCode(own.config.dataDir, 'host-1', HOUR_MS, time.clock);
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

  it('counts the addresses of one IPv6 network as one, which locks out nobody else', async () => {
    const own = await startHub({ config: { server: { trustedProxies: ['loopback'] } } });
    onTestFinished(own.stop);
    const askFrom = async (address: string) => {
      const asked = enrollment('host-1', 'guess');
      return (await askToEnroll(own.address, asked, { 'x-forwarded-for': address })).status;
    };
    for (let at = 1; at <= 30; at++) expect(await askFrom(`2001:db8::${at}`)).toBe(401);
    expect(await askFrom('2001:db8::ffff')).toBe(429);
    expect(await askFrom('2001:db8:0:1::1')).toBe(401);
  });

  it('by another method is answered with 405', async () => {
    const response = await fetch(hub.address + AGENT_PATHS.ENROLL);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await response.json()).toMatchObject({ status: 405, message: 'POST only' });
  });

  it('that does not end is aborted', async () => {
    const hasty = await startHub({ runtime: hastened(10_000, 50) });
    onTestFinished(() => hasty.stop());
    const socket = await rawConnection(hasty);
    socket.write('POST /agent/enroll HTTP/1.1\r\nHost: hub\r\nContent-Length: 50\r\n\r\n{');
    const [piece] = (await once(socket, 'data')) as [Buffer];
    expect(piece.toString()).toMatch(/^HTTP\/1\.1 408 /);
    await once(socket, 'close');
  });
});

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

it('unreadable enrollment requests are logged a hundred times at most', async () => {
  const own = await startHub();
  onTestFinished(own.stop);
  for (let at = 0; at < 120; at++) {
    const { status } = await fetch(`${own.address}/agent/enroll`, { method: 'POST', body: '{]' });
    expect(status).toBe(400);
  }
  const warnings = own.log.filter(({ level }) => level === LOG_LEVEL.WARN);
  expect(warnings.map(({ msg }) => msg)).toEqual([
    ...Array.from({ length: 100 }, () => 'an agent was refused'),
    'more refusals of this address are logged at debug only',
  ]);
});
