import { getEventListeners } from 'node:events';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { type HubConnection, type HubListener, JoinFailed } from '../core/ports/hub.js';
import { HubSession } from './hub-session.js';

let runtime: ManualRuntime;
let tries: { address: string; atMs: number }[];
let logged: string[];
/** Result of each try: a failure, or a connection of this duration. */
let outcome: (address: string) => string | number;
let session: HubSession;

const LISTENER: HubListener = {
  introduce: () => ({ instances: [], running: [], spooled: [] }),
  onJoined: () => undefined,
  onAssign: () => undefined,
  onCancel: () => undefined,
  onAcknowledged: () => undefined,
  onRequest: () => ({ error: null, text: null }),
};

function newSession(...addresses: string[]): HubSession {
  const join = (address: string, listener: HubListener) => {
    tries.push({ address, atMs: runtime.clock.monotonicMs() });
    const result = outcome(address);
    if (typeof result === 'string') return Promise.reject(new JoinFailed(result));
    const ended = new AbortController();
    return new Promise<string>((resolve) => {
      const end = () => {
        ended.abort();
        resolve('lost');
      };
      const connection = { ended: ended.signal, close: () => Promise.resolve(end()) };
      listener.onJoined(connection as unknown as HubConnection);
      runtime.timers.after(result, end);
    });
  };
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg) },
  );
  return new HubSession({ addresses, join }, LISTENER, { runtime, log });
}

beforeEach(() => {
  runtime = manualRuntime();
  tries = [];
  logged = [];
  outcome = () => 'nobody there';
});

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
    session = newSession('ws://a', 'ws://b', 'ws://c');
    outcome = (address) => (address === 'ws://c' ? 60_000 : 'nobody there');
    await session.start();
    await runtime.advance(0);
    expect(tries.map(({ address }) => address)).toEqual(['ws://a', 'ws://b', 'ws://c']);
    expect(session.connection).not.toBeNull();
    await runtime.advance(60_000);
    expect(session.connection).toBeNull();
    await runtime.advance(1000);
    expect(tries.at(-1)?.address).toBe('ws://c');
    await session.stop();
  });

  test('begins with short pauses again only after a connection that lasted', async () => {
    session = newSession('ws://a');
    outcome = () => 10;
    await session.start();
    await runtime.advance(60_000);
    expect(Math.max(...pauses())).toBeGreaterThan(10_000);
    outcome = () => 60_000;
    await runtime.advance(100_000);
    expect(pauses().at(-1)).toBeLessThan(61_000);
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
