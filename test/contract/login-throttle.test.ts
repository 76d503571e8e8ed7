/** Throttling of password guesses (contract 8.2). */
import type { Passwords } from '@workbench-hub/hub/core/ports/accounts';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { AUTH } from '../support/hubs/login.js';
import { passwordOf, startHub, USERS } from '../support/hubs/running-hub.js';
import { type Answer, Api, expectError } from '../support/interface/api.js';

const LOGIN_10 = '/api/1.0/auth/login';
const MINUTE_MS = 60_000;

let time: HandDrivenRuntime;
let api: Api;
beforeEach(async () => {
  time = new HandDrivenRuntime();
  const hub = await startHub({ users: USERS, runtime: { ...systemRuntime, clock: time.clock } });
  onTestFinished(hub.stop);
  api = new Api(hub);
});

const attempt = (username: string, password: string, path: string = AUTH.LOGIN) =>
  api.post(path, { username, password });

async function fail(times: number, username = 'anna', path: string = AUTH.LOGIN): Promise<void> {
  for (let at = 0; at < times; at++) expect((await attempt(username, 'wrong', path)).status).toBe(401);
}

describe('after ten failures in a row for a name', () => {
  it('login is answered with 429 and Retry-After, also with the right password, in every API version', async () => {
    await fail(10);
    for (const path of [AUTH.LOGIN, LOGIN_10]) {
      for (const password of ['wrong', passwordOf('anna')]) {
        const answer = await attempt('anna', password, path);
        expectError(answer, 429, path, 'too many attempts to log in by this name: try again in 300 s');
        expect(answer.headers.get('retry-after')).toBe('300');
        expect(answer.headers.getSetCookie()).toEqual([]);
      }
    }
  });

  it('failures of 1.0 and 2.x count together', async () => {
    await fail(5, 'anna', LOGIN_10);
    await fail(5, 'anna', AUTH.LOGIN);
    expect((await attempt('anna', passwordOf('anna'))).status).toBe(429);
  });

  it('other names are not affected', async () => {
    await fail(10);
    expect((await attempt('vera', passwordOf('vera'))).status).toBe(200);
  });

  it('existing sessions are not affected', async () => {
    const anna = await api.asUser('anna');
    await fail(10);
    expect((await anna.get(AUTH.USER)).status).toBe(200);
  });

  it('the right password is accepted again five minutes after the first failure', async () => {
    await fail(1);
    time.skip(2 * MINUTE_MS);
    await fail(9);
    time.skip(3 * MINUTE_MS - 1);
    const refused = await attempt('anna', passwordOf('anna'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    time.skip(1);
    expect((await attempt('anna', passwordOf('anna'))).status).toBe(200);
  });

  it('refused logins do not extend the time', async () => {
    await fail(10);
    time.skip(4 * MINUTE_MS);
    for (let at = 0; at < 20; at++) expect((await attempt('anna', 'wrong')).status).toBe(429);
    time.skip(MINUTE_MS);
    expect((await attempt('anna', passwordOf('anna'))).status).toBe(200);
  });
});

it('an unknown name is throttled like a known one', async () => {
  await fail(10, 'nobody');
  expect((await attempt('nobody', 'wrong')).status).toBe(429);
});

it('a successful login resets the count of failures', async () => {
  await fail(9);
  expect((await attempt('anna', passwordOf('anna'))).status).toBe(200);
  await fail(9);
  expect((await attempt('anna', passwordOf('anna'))).status).toBe(200);
});

it('slow login failures do not accumulate', async () => {
  for (let at = 0; at < 3; at++) {
    await fail(9);
    time.skip(5 * MINUTE_MS);
  }
  expect((await attempt('anna', passwordOf('anna'))).status).toBe(200);
});

it('simultaneous logins are counted like successive ones', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => attempt('anna', 'wrong')));
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
});

// Each hub has a queue of its own.
if (HUBS === 1) {
  it('a flood of logins is refused except for fifty that wait, and the hub serves other requests', async () => {
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const slow: Passwords = {
      hash: async () => 'a hash that nothing fits',
      verify: async () => {
        await begun;
        return false;
      },
    };
    const hub = await startHub({ users: USERS, passwords: slow });
    onTestFinished(hub.stop);
    const flooded = new Api(hub);
    const answers = Array.from({ length: 120 }, (_, at) =>
      flooded.post(AUTH.LOGIN, { username: `name-${at}`, password: 'wrong' }),
    );
    const refused: Answer[] = [];
    for (const answer of answers) void answer.then((settled) => refused.push(settled));
    await eventually(() => refused.length === 120 - 52);
    for (const answer of refused) {
      expectError(answer, 429, AUTH.LOGIN, 'too many logins at the moment: try again in a second');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((await flooded.get('/livez')).status).toBe(200);
    begin();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(52);
  });
}
