/** The load balancer that the quickstart uses where HAProxy is not installed. */
import { once } from 'node:events';
import { createServer, type RequestListener, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';

interface Balancer {
  readonly server: Server;
  close(): Promise<void>;
}

const { createBalancer } = (await import(
  new URL('../../deploy/quickstart/balancer.mjs', import.meta.url).href
)) as {
  createBalancer(options: { readonly hubs: readonly string[]; readonly checkEveryMs: number }): Balancer;
};

const CHECK_EVERY_MS = 50;

interface Hub {
  readonly address: string;
  isReady: boolean;
  stop(): Promise<void>;
  /** Starts it again at the same port. */
  start(): Promise<void>;
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A server that is ready as its flag says, and serves all else by `serve`. */
async function startHub(serve: RequestListener): Promise<Hub> {
  let server = createServer();
  const listen = async (port: number) => {
    server = createServer((incoming, outgoing) => {
      if (incoming.url !== '/readyz') serve(incoming, outgoing);
      else outgoing.writeHead(hub.isReady ? 200 : 503).end();
    });
    await once(server.listen(port, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const hub: Hub = { address: '', isReady: true, stop, start: async () => void (await listen(port)) };
  const port = await listen(0);
  ends.push(stop);
  return Object.assign(hub, { address: `http://127.0.0.1:${port}` });
}

const naming =
  (name: string): RequestListener =>
  (_, outgoing) =>
    outgoing.end(name);

/** Starts the load balancer; resolves with its address when it knows the hubs that are ready. */
async function balance(...hubs: Hub[]): Promise<string> {
  const balancer = createBalancer({ hubs: hubs.map(({ address }) => address), checkEveryMs: CHECK_EVERY_MS });
  ends.push(() => balancer.close());
  await once(balancer.server.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${(balancer.server.address() as AddressInfo).port}`;
  if (hubs.some(({ isReady }) => isReady))
    await eventually(async () => (await fetch(address)).status === 200);
  return address;
}

async function namesAt(address: string, times: number): Promise<Set<string>> {
  const names = new Set<string>();
  for (let time = 0; time < times; time++) names.add(await (await fetch(address)).text());
  return names;
}

describe("the quickstart's load balancer", () => {
  it('gives requests to all hubs that are ready, and none to others', async () => {
    const one = await startHub(naming('one'));
    const two = await startHub(naming('two'));
    const address = await balance(one, two);
    await eventually(async () => (await namesAt(address, 4)).size === 2);
    two.isReady = false;
    await eventually(async () => (await namesAt(address, 4)).size === 1);
    expect(await namesAt(address, 10)).toEqual(new Set(['one']));
    two.isReady = true;
    await eventually(async () => (await namesAt(address, 4)).size === 2);
  });

  it('says that no hub is ready', async () => {
    const hub = await startHub(naming('one'));
    hub.isReady = false;
    const address = await balance(hub);
    const response = await fetch(address);
    expect(response.status).toBe(503);
    expect(await response.text()).toBe('the load balancer: no hub is ready\n');
  });

  it('asks another hub when one breaks off before its response, or refuses with 503', async () => {
    let asked = 0;
    const breaking = await startHub((incoming) => {
      asked++;
      incoming.socket.destroy();
    });
    const refusing = await startHub((_, outgoing) => {
      asked++;
      outgoing.writeHead(503).end();
    });
    const sound = await startHub(naming('sound'));
    const address = await balance(breaking, refusing, sound);
    expect(await namesAt(address, 12)).toEqual(new Set(['sound']));
    expect(asked).toBeGreaterThan(4);
  });

  it('sends what has an effect once, unless it did not reach the hub', async () => {
    const bodies: string[] = [];
    const takes =
      (isAnswering: boolean): RequestListener =>
      async (incoming, outgoing) => {
        if (incoming.method === 'GET') {
          outgoing.end();
          return;
        }
        let body = '';
        for await (const piece of incoming) body += piece;
        bodies.push(body);
        if (isAnswering) outgoing.writeHead(201).end();
        else incoming.socket.destroy();
      };
    const breaking = await startHub(takes(false));
    const sound = await startHub(takes(true));
    const address = await balance(breaking, sound);
    const post = async (body: string) => (await fetch(address, { method: 'POST', body })).status;
    const statuses = new Set<number>();
    const isKnown = () => statuses.has(201) && statuses.has(502);
    let sent = 0;
    await eventually(async () => {
      sent++;
      statuses.add(await post(`body ${sent}`));
      return isKnown();
    });
    expect(bodies).toEqual(Array.from({ length: sent }, (_, at) => `body ${at + 1}`));
    // Nothing listens there, before a check has found that.
    await breaking.stop();
    for (let time = 0; time < 4; time++) expect(await post('more')).toBe(201);
    await breaking.start();
  });

  it('passes on pieces of a response as they come, and the end of the client', async () => {
    let close: () => void = () => undefined;
    const isClosed = new Promise<void>((resolve) => {
      close = resolve;
    });
    const hub = await startHub((incoming, outgoing) => {
      if (incoming.url !== '/events') {
        outgoing.end();
        return;
      }
      outgoing.once('close', close);
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      outgoing.write('data: first\n\n');
    });
    const sent = request(`${await balance(hub)}/events`).end();
    const [response] = await once(sent, 'response');
    expect(response.headers['content-type']).toBe('text/event-stream');
    const [piece] = await once(response, 'data');
    expect(String(piece)).toBe('data: first\n\n');
    sent.destroy();
    await isClosed;
  });

  it('tells the address of the client, and the path and headers as they are', async () => {
    const hub = await startHub((incoming, outgoing) =>
      outgoing.end(JSON.stringify({ url: incoming.url, headers: incoming.headers })),
    );
    const address = await balance(hub);
    const response = await fetch(`${address}/a%2Fb?c=d`, {
      headers: { 'x-forwarded-for': '192.0.2.7', 'x-own': '1' },
    });
    const { url, headers } = (await response.json()) as { url: string; headers: Record<string, string> };
    expect(url).toBe('/a%2Fb?c=d');
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-own': '1',
      host: new URL(address).host,
    });
  });

  it('keeps an upload in parts at one hub', async () => {
    const address = await balance(await startHub(naming('one')), await startHub(naming('two')));
    await eventually(async () => (await namesAt(address, 4)).size === 2);
    expect(await namesAt(`${address}/api/x/storage/input/uploads/1`, 6)).toEqual(new Set(['one']));
  });

  it('refuses WebSockets', async () => {
    const address = await balance(await startHub(naming('one')));
    const socket = connect(Number(new URL(address).port), '127.0.0.1');
    socket.write(
      'GET /agent/connect HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    let said = '';
    for await (const piece of socket) said += piece;
    expect(said).toMatch(/^HTTP\/1\.1 501 [\s\S]*agents connect to the hubs themselves\n$/);
  });
});
