import { expect, it } from 'vitest';
import { TokenCredentials } from './credentials.js';

it('a token that cannot be fetched once is fetched by the next request', async () => {
  const answers = [Promise.reject(new Error('the sign-on is away')), Promise.resolve('token')];
  const credentials = new TokenCredentials(() => answers.shift() ?? 'another');
  await expect(credentials.token()).rejects.toThrow('the sign-on is away');
  expect([await credentials.token(), await credentials.token()]).toEqual(['token', 'token']);
});

it('a token that was rejected is fetched anew, and one that cannot be is tried again', async () => {
  const answers: (() => Promise<string>)[] = [
    async () => 'first',
    async () => {
      throw new Error('the sign-on is away');
    },
    async () => 'second',
  ];
  const credentials = new TokenCredentials(() => answers.shift()?.() ?? 'another');
  expect(await credentials.token()).toBe('first');
  await expect(credentials.renew('first')).rejects.toThrow('the sign-on is away');
  expect([await credentials.renew('first'), await credentials.token()]).toEqual([true, 'second']);
});
