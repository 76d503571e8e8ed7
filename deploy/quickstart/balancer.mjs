// A load balancer for a trial, where HAProxy is not installed: passes each HTTP request to the next hub that is ready. What it
// has to do is in packages/docs/load-balancer.md; it leaves out the WebSockets of agents, which know the addresses of the hubs.
import { createServer, request } from 'node:http';
import { pipeline } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';

const CHECK_EVERY_MS = 500;
const CHECK_TIMEOUT_MS = 1000;

/** Path of what a hub keeps between two requests, which goes to the same one. */
const KEPT_BY_ONE_HUB = '/api/x/storage/input/uploads';

/** Headers of one connection, which are not passed on. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);

/**
 * @param {{ hubs: readonly string[], checkEveryMs?: number }} options `hubs`: addresses such as http://127.0.0.1:8080
 * @returns {{ server: import('node:http').Server, close: () => Promise<void> }} a server that does not listen yet
 */
export function createBalancer({ hubs, checkEveryMs = CHECK_EVERY_MS }) {
  const closing = new AbortController();
  const ready = new Set();
  let turn = 0;

  const readyWithout = (tried) => hubs.filter((hub) => ready.has(hub) && !tried.has(hub));

  const pass = (incoming, outgoing, tried = new Set()) => {
    const candidates = readyWithout(tried);
    if (candidates.length === 0) return refuse(outgoing, 503, 'no hub is ready');
    const at = incoming.url.startsWith(KEPT_BY_ONE_HUB) ? 0 : turn++ % candidates.length;
    const hub = candidates[at];
    const others = new Set([...tried, hub]);
    send(hub, incoming, outgoing, {
      mayRepeat: () => readyWithout(others).length > 0,
      repeat: () => pass(incoming, outgoing, others),
      away: () => ready.delete(hub),
    });
  };

  const server = createServer((incoming, outgoing) => pass(incoming, outgoing));
  server.requestTimeout = 0; // uploads of any size
  server.on('upgrade', (_, socket) =>
    socket.end(
      'HTTP/1.1 501 Not Implemented\r\nConnection: close\r\n\r\nagents connect to the hubs themselves\n',
    ),
  );
  for (const hub of hubs) void watch(hub, ready, { everyMs: checkEveryMs, signal: closing.signal });
  return {
    server,
    close: async () => {
      closing.abort();
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

/** Keeps a hub in the set while it is ready. */
async function watch(hub, ready, { everyMs, signal }) {
  while (!signal.aborted) {
    const timeout = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const response = await fetch(`${hub}/readyz`, { signal: AbortSignal.any([signal, timeout]) }).catch(
      () => undefined,
    );
    if (response?.status === 200) ready.add(hub);
    else ready.delete(hub);
    await response?.arrayBuffer().catch(() => undefined);
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Passes a request to a hub. One without effect that it has not answered is repeated at another, any that has not reached it, too. */
function send(hub, incoming, outgoing, { mayRepeat, repeat, away }) {
  const isWithoutEffect = (incoming.method === 'GET' || incoming.method === 'HEAD') && !hasBody(incoming);
  let isConnected = false;
  const passed = request(new URL(incoming.url, hub), {
    method: incoming.method,
    headers: headersFor(incoming),
    agent: false, // a kept connection may be closed by the hub just when a request begins
    setHost: false,
  });
  const end = () => passed.destroy();
  outgoing.once('close', end);
  passed.once('socket', (socket) =>
    socket.once('connect', () => {
      isConnected = true;
      if (isWithoutEffect) passed.end();
      else incoming.pipe(passed);
    }),
  );
  passed.once('response', (response) => {
    if (response.statusCode === 503 && isWithoutEffect && mayRepeat()) {
      outgoing.off('close', end);
      response.resume();
      repeat();
      return;
    }
    outgoing.writeHead(response.statusCode, response.statusMessage, passedOn(response.rawHeaders));
    outgoing.flushHeaders();
    pipeline(response, outgoing, () => undefined);
  });
  passed.on('error', (error) => {
    if (outgoing.destroyed || outgoing.headersSent) return outgoing.destroy();
    outgoing.off('close', end);
    if (!isConnected) away();
    if ((isWithoutEffect || !isConnected) && mayRepeat()) repeat();
    else refuse(outgoing, 502, `the hub has not answered: ${error.message}`);
  });
}

function hasBody({ headers }) {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function headersFor(incoming) {
  const forwarded = ['X-Forwarded-For', incoming.socket.remoteAddress, 'X-Forwarded-Proto', 'http'];
  return [...passedOn(incoming.rawHeaders, ['x-forwarded-for', 'x-forwarded-proto']), ...forwarded];
}

/** Headers as a list of names and values in turn. */
function passedOn(rawHeaders, without = []) {
  const kept = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at].toLowerCase();
    if (!OF_THE_CONNECTION.has(name) && !without.includes(name))
      kept.push(rawHeaders[at], rawHeaders[at + 1]);
  }
  return kept;
}

function refuse(outgoing, status, why) {
  outgoing.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  outgoing.end(`the load balancer: ${why}\n`);
}
