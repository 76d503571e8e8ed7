/** TLS on the one port of the hub: REST, agents and their files. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import {
  ask,
  bare,
  ca,
  closed,
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
  ])('accepts %s: %j', async (version, works) => {
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
