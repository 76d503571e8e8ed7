import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ServiceFault } from './host-service.js';
import { serviceAccount } from './service-account.js';

function inputOf(text: string, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY });
  input.end(text);
  return input;
}

const USER = String.raw`.\user`;

it('asks for a password, which is never shown', async () => {
  let told = '';
  const account = await serviceAccount(USER, 'win32', inputOf('secret\r'), (text) => {
    told += text;
  });
  expect(account).toEqual({ name: USER, password: 'secret' });
  expect(told).toBe(`Password of ${USER}: \n`);
});

it.each([
  ['LocalSystem', 'win32'],
  [String.raw`NT AUTHORITY\NetworkService`, 'win32'],
  [String.raw`DOMAIN\managed$`, 'win32'],
  ['user', 'linux'],
] as const)('asks for none of %s on %s', async (name, platform) => {
  const account = await serviceAccount(name, platform, inputOf('', false), () => expect.unreachable());
  expect(account).toEqual({ name, password: null });
});

it.each([
  [inputOf('secret\n', false), /no terminal to ask/],
  [inputOf(''), /no password was given/],
  [inputOf('sec\x03'), /no password was given/],
])('is refused without an answer', async (input, words) => {
  const refused = serviceAccount(USER, 'win32', input, () => undefined);
  await expect(refused).rejects.toThrow(words);
  await expect(refused).rejects.toBeInstanceOf(ServiceFault);
});
