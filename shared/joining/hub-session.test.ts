import { getEventListeners } from 'node:events';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { abortable } from '../runtime/abortable.js';
import { type ManualRuntime, manualRuntime } from '../runtime/manual-runtime.js';
import { HubAddresses } from './hub-addresses.js';
import { HubSession, type SessionListener } from './hub-session.js';
import { type HubConnection, type HubListener, JoinFailed } from './ports/hub.js';

const UNAUTHORIZED = 'the credential is refused';
const NODE_ID = '0c0e5e0e-0000-4000-8000-000000000001';

let runtime: ManualRuntime;
let tries: { address: string; atMs: number }[];
let logged: string[];
/** Resolves when the hubs accept connections; undefined: at once. */
let dialing: Promise<void> | undefined;
/** The response of hubs to an introduction. */
let refusal: string | undefined;
/** Fields of the lines about joined hubs. */
let joins: object[];
/** Events of connections, in order: `joined ws://a`. */
let events: string[];
/** The listener of each hub that was joined last. */
let listeners: Map<string, HubListener>;
/** Ends the connection of a hub. */
let ends: Map<string, (reason: string) => void>;
/** Result of each try: a failure, or a connection of this duration. */
let outcome: (address: string) => string | number;
let session: HubSession;
/** Times for which the credential has been refused. */
let refusedForMs: number[];

const LISTENER: SessionListener = {
  introduce: () => ({ instances: [], running: [], spooled: [] }),
  onJoined: () => undefined,
  onAssign: () => undefined,
  onCancel: () => undefined,
  onAcknowledged: () => undefined,
  onRequest: () => ({ error: null, text: null }),
};

function newSession(...addresses: string[]): HubSession {
  const join = async (address: string, listener: HubListener, signal: AbortSignal) => {
    tries.push({ address, atMs: runtime.clock.monotonicMs() });
    const result = outcome(address);
    if (typeof result === 'string') throw new JoinFailed(result, { isUnauthorized: result === UNAUTHORIZED });
    if (dialing !== undefined)
      await abortable(dialing, signal).catch(() => Promise.reject(new JoinFailed('aborted')));
    await listener.onConnected?.();
    if (refusal !== undefined) throw new JoinFailed(refusal);
    const ended = new AbortController();
    return new Promise<string>((resolve) => {
      const end = (reason: string) => {
        if (!ended.signal.aborted) events.push(`ended ${address}`);
        ended.abort();
        resolve(reason);
      };
      const close = () => Promise.resolve(end('lost'));
      const connection = { ended: ended.signal, close, leave: close };
      events.push(`joined ${address}`);
      listeners.set(address, listener);
      ends.set(address, end);
      listener.onJoined(connection as unknown as HubConnection);
      runtime.timers.after(result, () => end('lost'));
    });
  };
  const log = pino(
    { level: 'info' },
    {
      write: (line: string) => {
        const { msg, hub, left, reason } = JSON.parse(line) as Record<string, string>;
        logged.push(msg ?? '');
        if (msg === 'joined the hub') joins.push({ hub, left, reason });
      },
    },
  );
  const onUnauthorized = (forMs: number) => void refusedForMs.push(forMs);
  return new HubSession({ addresses, nodeId: NODE_ID, join }, LISTENER, { runtime, log, onUnauthorized });
}

beforeEach(() => {
  runtime = manualRuntime();
  tries = [];
  logged = [];
  dialing = undefined;
  refusal = undefined;
  joins = [];
  events = [];
  listeners = new Map();
  ends = new Map();
  outcome = () => 'nobody there';
  refusedForMs = [];
});

/** The addresses in the order of this agent. */
const inOrder = (...addresses: string[]) => new HubAddresses(addresses, NODE_ID).round(null);

const pauses = () => tries.slice(1).map(({ atMs }, index) => atMs - (tries[index]?.atMs ?? 0));

describe('a session', () => {
  test('tries for ever, with pauses that grow to 15 s', async () => {
    session = newSession('ws://a');
    await session.start();
    await runtime.advance(120_000);
    expect(pauses().slice(0, 8)).toEqual([187.5, 375, 750, 1500, 3000, 6000, 11_250, 11_250]);
    await session.stop();
    expect(runtime.pendingTimers).toBe(0);
  });

  test('tells for how long its credential is refused, until a hub takes it', async () => {
    let reply: string | number = UNAUTHORIZED;
    outcome = () => reply;
    session = newSession('ws://a');
    await session.start();
    await runtime.advance(60_000);
    expect(refusedForMs[0]).toBe(0);
    expect(refusedForMs.at(-1)).toBeGreaterThan(40_000);
    reply = 'nobody there';
    const told = refusedForMs.length;
    await runtime.advance(60_000);
    expect(refusedForMs).toHaveLength(told);
    reply = 1000;
    await runtime.advance(16_000);
    reply = UNAUTHORIZED;
    await runtime.advance(16_000);
    expect(refusedForMs[told]).toBe(0);
  });

  test('logs a reason once, again after many tries, and at once when it changes', async () => {
    session = newSession('ws://a');
    await session.start();
    await runtime.advance(300_000);
    expect(logged).toEqual(['not joined: nobody there; trying again']);
    outcome = () => 'wrong token';
    await runtime.advance(600_000);
    expect(logged.slice(1)).toEqual([
      'not joined: wrong token; trying again',
      'still not joined: wrong token; trying again',
    ]);
    await session.stop();
  });

  test('tries the hubs of a list one after the other, without a pause between', async () => {
    const [first = '', second = '', last = ''] = inOrder('ws://a', 'ws://b', 'ws://c');
    session = newSession('ws://a', 'ws://b', 'ws://c');
    outcome = (address) => (address === last ? 60_000 : 'nobody there');
    await session.start();
    await runtime.advance(0);
    expect(tries.map(({ address }) => address)).toEqual([first, second, last]);
    expect(session.connection).not.toBeNull();
    await session.stop();
  });

  test('pauses between the rounds of a list only', async () => {
    session = newSession('ws://a', 'ws://b', 'ws://c');
    await session.start();
    await runtime.advance(2000);
    expect(pauses().slice(0, 8)).toEqual([0, 0, 187.5, 0, 0, 375, 0, 0]);
    await session.stop();
  });

  test('goes on to the other hubs when a connection was lost, and returns to its hub at last', async () => {
    const [first = '', second = '', third = ''] = inOrder('ws://a', 'ws://b', 'ws://c');
    session = newSession('ws://a', 'ws://b', 'ws://c');
    outcome = () => 60_000;
    await session.start();
    await runtime.advance(0);
    outcome = () => 'nobody there';
    ends.get(first)?.('cut');
    await runtime.advance(200);
    expect(tries.map(({ address }) => address)).toEqual([first, second, third, first]);
    await session.stop();
  });

  test('begins with short pauses again once a hub has answered', async () => {
    session = newSession('ws://a');
    await session.start();
    await runtime.advance(60_000);
    expect(pauses().at(-1)).toBeGreaterThan(10_000);
    outcome = () => 10;
    await runtime.advance(15_000);
    const joined = tries.length;
    outcome = () => 'nobody there';
    await runtime.advance(3000);
    expect(pauses().slice(joined - 1, joined + 2)).toEqual([expect.any(Number), 187.5, 375]);
    await session.stop();
  });

  test('pauses for two seconds at most after connections that end soon, and for less after one that lasted', async () => {
    session = newSession('ws://a');
    outcome = () => 10;
    await session.start();
    await runtime.advance(60_000);
    expect(pauses().slice(-3)).toEqual([1510, 1510, 1510]);
    outcome = () => 60_000;
    await runtime.advance(100_000);
    expect(pauses().at(-1)).toBe(60_187.5);
    await session.stop();
  });

  test('gives the next connection to those who wait for one', async () => {
    session = newSession('ws://a');
    await session.start();
    const { signal } = new AbortController();
    const waiting = session.connected(signal);
    const impatient = new AbortController();
    const given = session.connected(impatient.signal);
    impatient.abort(new Error('enough'));
    await expect(given).rejects.toThrow('enough');
    outcome = () => 60_000;
    await runtime.advance(1000);
    expect(await waiting).toBe(session.connection);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await session.stop();
  });
});

describe('a move', () => {
  beforeEach(async () => {
    outcome = () => 60_000;
    session = newSession('ws://a');
    await session.start();
    await runtime.advance(0);
    listeners.get('ws://a')?.onHubs(['ws://b', 'ws://c']);
  });

  const ask = (from: string, to: string[] = []) =>
    listeners.get(from)?.onMove({ reason: 'the hub stops', to });

  test('leaves the hub when another has accepted the connection, and is one line in the log', async () => {
    ask('ws://a', ['ws://c']);
    await runtime.advance(0);
    expect(events).toEqual(['joined ws://a', 'ended ws://a', 'joined ws://c']);
    expect(session.connection).not.toBeNull();
    expect(joins).toEqual([{ hub: 'ws://a' }, { hub: 'ws://c', left: 'ws://a', reason: 'the hub stops' }]);
    expect(logged).toEqual(['joined the hub', 'joined the hub']);
    await session.stop();
  });

  test('passes over hubs that do not accept the connection', async () => {
    outcome = (address) => (address === 'ws://b' ? 60_000 : 'not ready');
    ask('ws://a', ['ws://c']);
    await runtime.advance(0);
    expect(events).toEqual(['joined ws://a', 'ended ws://a', 'joined ws://b']);
    await session.stop();
  });

  test('does not take place when no other hub can be joined', async () => {
    outcome = () => 'not ready';
    ask('ws://a');
    await runtime.advance(0);
    expect(events).toEqual(['joined ws://a']);
    expect(session.connection).not.toBeNull();
    expect(logged.at(-1)).toBe('the hub wants this agent to move, but no other hub can be joined');
    outcome = () => 60_000;
    ask('ws://a', ['ws://b']);
    await runtime.advance(0);
    expect(events).toEqual(['joined ws://a', 'ended ws://a', 'joined ws://b']);
    await session.stop();
  });

  test('may follow another one at once, back too', async () => {
    ask('ws://a', ['ws://b']);
    await runtime.advance(0);
    listeners.get('ws://b')?.onHubs(['ws://c', 'ws://a']);
    ask('ws://b', ['ws://c']);
    await runtime.advance(0);
    ask('ws://c', ['ws://a']);
    await runtime.advance(0);
    expect(events.filter((event) => event.startsWith('joined'))).toEqual([
      'joined ws://a',
      'joined ws://b',
      'joined ws://c',
      'joined ws://a',
    ]);
    await session.stop();
    expect(events.at(-1)).toBe('ended ws://a');
  });

  test('is asked for once at a time, and only by the joined hub', async () => {
    ask('ws://a', ['ws://b']);
    ask('ws://a', ['ws://c']);
    await runtime.advance(0);
    ask('ws://a', ['ws://c']);
    await runtime.advance(0);
    expect(events).toEqual(['joined ws://a', 'ended ws://a', 'joined ws://b']);
    await session.stop();
  });

  test('whose hub is lost meanwhile still takes place', async () => {
    let accept: () => void = () => undefined;
    dialing = new Promise((resolve) => {
      accept = resolve;
    });
    ask('ws://a', ['ws://b']);
    await runtime.advance(0);
    ends.get('ws://a')?.('cut');
    await runtime.advance(1000);
    expect(session.connection).toBeNull();
    accept();
    await runtime.advance(0);
    expect(events).toEqual(['joined ws://a', 'ended ws://a', 'joined ws://b']);
    expect(tries.map(({ address }) => address)).toEqual(['ws://a', 'ws://b']);
    await session.stop();
  });

  test('to a hub that refuses the agent afterwards leads to the next round', async () => {
    refusal = 'refused';
    ask('ws://a', ['ws://b']);
    await runtime.advance(0);
    refusal = undefined;
    await runtime.advance(200);
    expect(events.slice(0, 3)).toEqual(['joined ws://a', 'ended ws://a', 'joined ws://a']);
    await session.stop();
  });

  test('ends with the agent', async () => {
    dialing = new Promise(() => undefined);
    ask('ws://a', ['ws://b']);
    await runtime.advance(0);
    await session.stop();
    expect(events).toEqual(['joined ws://a', 'ended ws://a']);
  });
});
