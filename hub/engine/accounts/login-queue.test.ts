import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { type LoginAttempt, LoginQueue } from './login-queue.js';

let turns: LoginQueue;
/** Names in the order in which they were tried. */
let begun: string[];
let turnedAway: string[];
let running: { end: () => void; fail: () => void }[];
beforeEach(() => {
  turns = new LoginQueue(manualRuntime().clock);
  begun = [];
  turnedAway = [];
  running = [];
});

const settle = () => new Promise(setImmediate);

function attempt(username: string, location = 'flood', isKnown = false): LoginAttempt {
  return { username, location, isKnown, client: { aborted: false } };
}

function come(each: LoginAttempt): void {
  const tryIt = () => {
    begun.push(each.username);
    return new Promise<void>((resolve, reject) =>
      running.push({ end: resolve, fail: () => reject(new Error()) }),
    );
  };
  turns.run(each, tryIt).catch((error: Error) => {
    if (error.message !== '') turnedAway.push(each.username);
  });
}

/** Lets the oldest try fail, or succeed, which gives the next one its turn. */
async function next(outcome: 'fail' | 'end' = 'fail'): Promise<string | undefined> {
  const before = begun.length;
  running.shift()?.[outcome]();
  await settle();
  return begun[before];
}

async function flood(count: number, location: (n: number) => string = () => 'flood'): Promise<void> {
  for (let n = 0; n < count; n++) come(attempt(`made up ${n}`, location(n)));
  await settle();
}

describe('the next login in the queue during a flood', () => {
  it('from one location is one from another location', async () => {
    await flood(100);
    expect([begun.length, turnedAway.length]).toEqual([2, 48]);
    for (const n of [1, 2, 3]) come(attempt(`honest ${n}`, 'office'));
    await settle();
    expect(turnedAway.filter((username) => username.startsWith('honest'))).toEqual([]);
    // Places take turns as long as none has failed more often.
    expect([await next(), await next(), await next(), await next()].slice(0, 2)).toEqual([
      'honest 1',
      'honest 2',
    ]);
    expect(begun).toContain('honest 3');
  });

  it('from many locations is one from a location without failures, once each of the others has failed', async () => {
    const locations = 60;
    await flood(locations, (n) => `bot ${n}`);
    for (let n = 0; n < locations; n++) await next();
    await flood(locations, (n) => `bot ${n % 40}`);
    come(attempt('honest', 'office'));
    await settle();
    expect(await next()).toBe('honest');
  });

  it('is first of all one by a user who recently logged in from there, even during the flood', async () => {
    await flood(100);
    for (const username of ['anna', 'bert']) come(attempt(username, 'flood', true));
    await settle();
    expect([await next(), await next()]).toEqual(['anna', 'bert']);
    expect(turnedAway).not.toContain('anna');
  });

  it('from one location is that of a name without failures, or of one that repeats', async () => {
    for (let n = 0; n < 3; n++) {
      come(attempt('tried'));
      await settle();
      await next();
    }
    for (const username of ['busy 1', 'busy 2', 'tried', 'new']) come(attempt(username));
    await settle();
    expect([await next('end'), await next('end')]).toEqual(['new', 'tried']);
    for (let n = 0; n < 2; n++) await next('end');

    await flood(100);
    expect(turnedAway).toContain('made up 99');
    come(attempt('made up 99'));
    await settle();
    expect(await next()).toBe('made up 99');
  });

  it('is not always that of a user who recently logged in from there', async () => {
    await flood(10);
    for (let n = 0; n < 200; n++) come(attempt('greedy', 'desk', true));
    come(attempt('anna', 'office', true));
    await settle();
    expect(turnedAway).toEqual(Array(200 + 1 - 40).fill('greedy'));
    const given: string[] = [];
    for (let n = 0; n < 8; n++) given.push((await next('end')) ?? '');
    expect(given.slice(0, 2)).toContain('anna');
    expect(given.filter((username) => username.startsWith('made up'))).toHaveLength(2);
  });

  it('is never that of a disconnected client', async () => {
    await flood(2);
    const gone = { ...attempt('gone', 'office'), client: { aborted: true } };
    come(gone);
    come(attempt('here', 'office'));
    await settle();
    expect(await next()).toBe('here');
    expect(turnedAway).toEqual(['gone']);
  });
});
