import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { changeProfiles, type Profile, readProfiles } from './profiles.js';
import { SignOnCredentials } from './sign-on.js';

const ISSUER = 'http://localhost:1';
const METADATA = {
  issuer: ISSUER,
  token_endpoint: `${ISSUER}/token`,
  revocation_endpoint: `${ISSUER}/revoke`,
};
const signedOnAs = (token: string): Profile => ({
  url: 'http://hub',
  token,
  signOn: { issuer: ISSUER, clientId: 'wb', scopes: ['openid'], refreshToken: `refreshes ${token}` },
});

let folder: string;
/** Tokens that were revoked. */
let revoked: (string | null)[];
/** Lets the provider respond to a renewal. */
let respond: () => void;
let asked: Promise<void>;
let fetchByProvider: typeof globalThis.fetch;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sign-on-'));
  vi.stubEnv('WB_PROFILES', join(folder, 'profiles.json'));
  await changeProfiles(() => ({ profiles: { hub: signedOnAs('old') } }));
  revoked = [];
  const responded = new Promise<void>((resolve) => {
    respond = resolve;
  });
  let tellAsked: () => void = () => undefined;
  asked = new Promise((resolve) => {
    tellAsked = resolve;
  });
  fetchByProvider = async (url, init) => {
    const { pathname } = new URL(`${url}`);
    if (pathname === '/revoke') {
      revoked.push(new URLSearchParams(`${init?.body}`).get('token'));
      return new Response(null, { status: 200 });
    }
    if (pathname !== '/token') return Response.json(METADATA);
    tellAsked();
    await responded;
    return Response.json({ access_token: 'new', token_type: 'bearer', refresh_token: 'refreshes new' });
  };
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Credentials of a program that began before the profiles changed. */
let credentials: SignOnCredentials;

/** Renews the token; changes the profiles while the provider has not responded. */
async function renewDuring(change: () => Promise<void>): Promise<string> {
  credentials = new SignOnCredentials('hub', signedOnAs('old'), fetchByProvider);
  const renewed = credentials.renew('old').then(() => credentials.token());
  await asked;
  await change();
  respond();
  return renewed;
}

it('a renewed token is kept for the other programs of the profile', async () => {
  expect(await renewDuring(async () => undefined)).toBe('new');
  expect((await readProfiles()).profiles['hub']).toMatchObject({ token: 'new' });
  expect(revoked).toEqual([]);
});

it.each<[string, Record<string, Profile>]>([
  ['a logout', {}],
  ['a login as somebody else', { hub: signedOnAs('of another user') }],
])('a renewal ends the sign-on after %s meanwhile', async (_, profiles) => {
  const renewed = renewDuring(() => changeProfiles(() => ({ profiles })));
  await expect(renewed).rejects.toThrow('its profile was removed or replaced meanwhile');
  expect((await readProfiles()).profiles).toEqual(profiles);
  expect(revoked).toEqual(['refreshes new']);
  expect(await credentials.token()).not.toBe('new');
});
