import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { HubError } from '../../core/errors.js';
import type { Passwords, UserRecord, UserStore } from '../../core/ports/accounts.js';
import { ownLoginRecords } from './own-login-records.js';
import { type PasswordCheck, passwordCheck, watched } from './password-check.js';

const ANNA: UserRecord = {
  username: 'anna',
  passwordHash: 'hash of right',
  roles: ['ADMIN'],
  disabled: false,
  source: 'COMMAND',
  createdAtMs: 0,
};

/** Hashes that passwords were compared with. */
let tried: string[];
let goOn: (() => void)[];
let isSlow: boolean;
let passwords: Passwords;
let check: PasswordCheck;
let runtime: ManualRuntime;

beforeEach(async () => {
  tried = [];
  goOn = [];
  isSlow = false;
  passwords = {
    hash: async (password) => `hash of ${password}`,
    verify: async (password, passwordHash) => {
      tried.push(passwordHash);
      if (isSlow) await new Promise<void>((resolve) => goOn.push(resolve));
      return passwordHash === `hash of ${password}`;
    },
  };
  const known = new Map([
    ['anna', ANNA],
    ['dora', { ...ANNA, username: 'dora', disabled: true }],
  ]);
  const users = { find: async (username: string) => known.get(username) } as UserStore;
  runtime = manualRuntime();
  const { clock } = runtime;
  check = await passwordCheck({ users, passwords, records: ownLoginRecords(clock), clock });
});

const outcomeOf = (
  username: string,
  password: string,
  address = '192.0.2.1',
  client = { aborted: false },
): Promise<string | HubError> =>
  check.check(username, password, { address, client }).then(
    ({ username }) => username,
    (error: HubError) => error,
  );

describe('the check of a password', () => {
  it('returns the user', async () => {
    expect(await outcomeOf('anna', 'right')).toBe('anna');
  });

  it.each([
    ['anna', 'wrong'],
    ['dora', 'right'],
    ['nobody', 'right'],
    ['nobody', 'the password of nobody'],
  ])(
    'refuses %s with the password "%s" in the same words, after the same work',
    async (username, password) => {
      expect(await outcomeOf(username, password)).toMatchObject({
        code: 'UNAUTHENTICATED',
        message: 'the username or the password is wrong, or the user is disabled',
      });
      expect(tried).toHaveLength(1);
    },
  );

  it('checks two passwords at a time, lets fifty wait, and refuses the others', async () => {
    isSlow = true;
    const answers = Array.from({ length: 60 }, (_, at) => outcomeOf(`name ${at}`, 'wrong'));
    const settled = await Promise.all(answers.slice(52));
    for (const error of settled) expect(error).toMatchObject({ code: 'TOO_MANY_ATTEMPTS', retryAfterS: 1 });
    while (goOn.length < 2) await new Promise(setImmediate);
    expect(tried).toHaveLength(2);
    isSlow = false;
    for (const resolve of goOn) resolve();
    for (const error of await Promise.all(answers.slice(0, 52))) {
      expect(error).toMatchObject({ code: 'UNAUTHENTICATED' });
    }
  });

  it('is skipped for a disconnected client', async () => {
    isSlow = true;
    const client = { aborted: false };
    const answers = [outcomeOf('name 1', 'wrong'), outcomeOf('name 2', 'wrong')];
    const gone = outcomeOf('anna', 'right', '192.0.2.1', client);
    while (goOn.length < 2) await new Promise(setImmediate);
    client.aborted = true;
    isSlow = false;
    for (const resolve of goOn) resolve();
    expect(await gone).toMatchObject({ code: 'TOO_MANY_ATTEMPTS' });
    await Promise.all(answers);
    expect(tried).toHaveLength(2);
  });
});

describe('a name that is locked by failures of others', () => {
  const ELSEWHERE = '198.51.100.7';
  const closeFromElsewhere = async () => {
    for (let at = 0; at < 10; at++) await outcomeOf('anna', 'wrong', ELSEWHERE);
  };

  it('is open to its user from locations of logins within twelve hours, and from no other', async () => {
    expect(await outcomeOf('anna', 'right')).toBe('anna');
    await runtime.advance(12 * 3_600_000 - 1);
    await closeFromElsewhere();
    for (const address of [ELSEWHERE, '192.0.2.2']) {
      expect(await outcomeOf('anna', 'right', address)).toMatchObject({ code: 'TOO_MANY_ATTEMPTS' });
    }
    expect(await outcomeOf('anna', 'right')).toBe('anna');
    await runtime.advance(12 * 3_600_000);
    await closeFromElsewhere();
    expect(await outcomeOf('anna', 'right')).toMatchObject({ code: 'TOO_MANY_ATTEMPTS' });
  });

  it('is locked there, too, after ten failures from there', async () => {
    await outcomeOf('anna', 'right');
    await closeFromElsewhere();
    for (let at = 0; at < 10; at++) {
      expect(await outcomeOf('anna', 'wrong')).toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    expect(await outcomeOf('anna', 'right')).toMatchObject({ code: 'TOO_MANY_ATTEMPTS' });
  });

  it('is locked elsewhere by failures from there, and further failures do not prolong that', async () => {
    await outcomeOf('anna', 'right');
    for (let at = 0; at < 9; at++) await outcomeOf('anna', 'wrong');
    expect(await outcomeOf('anna', 'wrong', ELSEWHERE)).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(await outcomeOf('anna', 'right', ELSEWHERE)).toMatchObject({ retryAfterS: 300 });
    await runtime.advance(60_000);
    await outcomeOf('anna', 'wrong');
    expect(await outcomeOf('anna', 'right', ELSEWHERE)).toMatchObject({ retryAfterS: 240 });
  });

  it('is not affected by a name that looks like a name with an address', async () => {
    await outcomeOf('anna', 'right');
    for (let at = 0; at < 10; at++) await outcomeOf('192.0.2.1 anna', 'wrong');
    expect(await outcomeOf('anna', 'right')).toBe('anna');
  });
});

describe('the count of failed log-ins', () => {
  it.each([
    ['a refusal', new HubError('UNAUTHENTICATED', 'no'), ['REFUSED']],
    ['a throttled log-in', new HubError('TOO_MANY_ATTEMPTS', 'later'), ['THROTTLED']],
    ['no other error of the hub', new HubError('STORE_UNAVAILABLE', 'away'), []],
    ['no fault of the program', new TypeError('a fault'), []],
  ])('has %s', async (_, error, expected) => {
    const failed: string[] = [];
    const refusing: PasswordCheck = { check: () => Promise.reject(error) };
    const counted = watched(refusing, { failed: (why) => void failed.push(why) });
    const origin = { address: '192.0.2.1', client: { aborted: false } };
    await expect(counted.check('anna', 'right', origin)).rejects.toBe(error);
    expect(failed).toEqual(expected);
  });
});
