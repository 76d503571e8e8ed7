/** WebSocket upgrades by clients without a valid identity, or that do not speak the protocol. */
import { once } from 'node:events';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { agentsAtOneHub, hub, rawConnection, refusals } from '../support/agents/agents-at-one-hub.js';
import { eventually } from '../support/eventually.js';

agentsAtOneHub();

/** Reasons for which connections ended before their agent had joined. */
function endedBeforeJoin(): unknown[] {
  return hub.log
    .filter(({ msg }) => msg === 'a connection of an agent ended before it joined')
    .map(({ reason }) => reason);
}

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

  it('at another path, or one with .., is answered with 404', async () => {
    for (const path of ['/agent/files/../connect', '/agent/../agent/connect']) {
      expect((await answerTo('', path))[0]).toBe('HTTP/1.1 404 Not Found');
    }
  });

  it('that is refused leaves no connection open, even when more data is sent', async () => {
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

  it('whose first message has 100 MB is closed with 1009 before the message is received', async () => {
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

  it('whose first message has endless fragments is closed with 1009', async () => {
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

  it('whose first message is invalid is closed with 1002, and logged with the reason', async () => {
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
