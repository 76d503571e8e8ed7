/** A flood of logins by somebody without an account, 130 a second, beside correct logins. A password check takes a tenth of a
 *  second here, as in production, but no processor time, so that a busy machine checks as many. */
import { request } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AUTH } from '../support/hubs/login.js';
import { passwordOf, quickPasswords, type RunningHub, startHub } from '../support/hubs/running-hub.js';

const FLOOD_PER_SECOND = 130;
const VERIFY_MS = 100;

/** These have logged in before the flood. */
const KNOWN = Array.from({ length: 20 }, (_, at) => `known-${at}`);
const NEW = Array.from({ length: 10 }, (_, at) => `new-${at}`);
const USERS = [...KNOWN, ...NEW];

let hub: RunningHub;
let stopFlood: () => Promise<void>;
beforeEach(async () => {
  hub = await startHub({
    users: Object.fromEntries(USERS.map((username) => [username, ['USER'] as const])),
    config: { server: { trustedProxies: ['loopback'] } },
    passwords: {
      hash: quickPasswords.hash,
      verify: async (password, hash) => {
        await new Promise((resolve) => setTimeout(resolve, VERIFY_MS));
        return quickPasswords.verify(password, hash);
      },
    },
  });
  stopFlood = async () => undefined;
});
afterEach(async () => {
  await stopFlood();
  await hub.stop();
});

/** The status of one attempt from this address. */
function attempt(username: string, password: string, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address };
    const sent = request(hub.address + AUTH.LOGIN, { method: 'POST', headers, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ username, password }));
  });
}

const logIn = (username: string, address: string) => attempt(username, passwordOf(username), address);

/** Runs until the test ends; resolves when the hub has begun to turn it away. */
async function flood(username: (n: number) => string, address: (n: number) => string): Promise<void> {
  const pending = new Set<Promise<unknown>>();
  let refused = 0;
  let n = 0;
  const timer = setInterval(() => {
    const sent = attempt(username(n), 'a guess', address(n)).then(
      (status) => {
        if (status === 429) refused++;
      },
      () => undefined,
    );
    pending.add(sent);
    void sent.finally(() => pending.delete(sent));
    n++;
  }, 1000 / FLOOD_PER_SECOND);
  stopFlood = async () => {
    clearInterval(timer);
    await Promise.all(pending);
  };
  await expect.poll(() => refused).toBeGreaterThan(50);
}

/** Logs in as clients do, again after a second when there is no room; resolves with the number of tries. */
async function logInPatiently(username: string, address: string): Promise<number> {
  for (let tries = 1; ; tries++) {
    const status = await logIn(username, address);
    if (status === 200) return tries;
    expect(status).toBe(429);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

const homeOf = (username: string) => `192.0.2.${USERS.indexOf(username) + 1}`;
const OFFICE = '192.0.2.250';

it.each([
  ['one address, with many names', (n: number) => `made-up-${n}`, () => '198.51.100.1', homeOf],
  ['many addresses, with one name', () => 'known-0', (n: number) => `10.1.0.${n % 250}`, homeOf],
  [
    'many addresses, with many names',
    (n: number) => `made-up-${n}`,
    (n: number) => `10.1.0.${n % 250}`,
    homeOf,
  ],
  ['the address of everybody, with many names', (n: number) => `made-up-${n}`, () => OFFICE, () => OFFICE],
])(
  'a flood from %s does not block users who recently logged in from there, and others only for seconds',
  async (...flooded) => {
    const [, username, address, placeOf] = flooded;
    for (const user of KNOWN) expect(await logIn(user, placeOf(user))).toBe(200);
    await flood(username, address);
    const statuses: number[] = [];
    for (const user of KNOWN) statuses.push(await logIn(user, placeOf(user)));
    expect(statuses).toEqual(KNOWN.map(() => 200));
    const tries = await Promise.all(NEW.map((user) => logInPatiently(user, placeOf(user))));
    expect(Math.max(...tries)).toBeLessThan(20);
  },
  120_000,
);
