import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import type { HubError } from '../../core/errors.js';
import type { Passwords, UserRecord, UserStore } from '../../core/ports/accounts.js';
import { type PasswordCheck, passwordCheck } from './password-check.js';

const ANNA: UserRecord = {
  username: 'anna',
  passwordHash: 'hash of right',
  roles: ['ADMIN'],
  disabled: false,
  source: 'COMMAND',
  createdAtMs: 0,
};

/** Every hash that was held against a password. */
let tried: string[];
let goOn: (() => void)[];
let isSlow: boolean;
let passwords: Passwords;
let check: PasswordCheck;

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
  check = await passwordCheck({ users, passwords, clock: manualRuntime().clock });
});

const outcomeOf = (username: string, password: string): Promise<string | HubError> =>
  check.check(username, password).then(
    ({ username }) => username,
    (error: HubError) => error,
  );

describe('the check of a password', () => {
  it('gives the user', async () => {
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

  it('tries two passwords at once, keeps fifty waiting, and turns the others away', async () => {
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
});
