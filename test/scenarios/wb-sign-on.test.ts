/** `wb login` by the device flow of the company's sign-on, with a real provider. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import {
  AUDIENCE,
  type ProviderKey,
  providerKey,
  type SignOnProvider,
  startProvider,
} from '../support/hubs/oidc-provider.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { callWb, endCalls, type WbOutcome } from '../support/programs/wb.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 180_000 });

const NOT_ALLOWED = 5;
const SHELLS = 20;
/** `wb` renews its token half a minute before its expiry, so such tokens are renewed at each use. */
const SHORT_S = 20;

let folder: TemporaryFolder;
let key: ProviderKey;
let provider: SignOnProvider;
let hub: HubProgram;
beforeAll(async () => {
  key = await providerKey('first');
});
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  endCalls();
  await endPrograms();
  await provider.stop();
  await folder.remove();
});

async function start(tokenLifetimeS: number): Promise<void> {
  provider = await startProvider({
    keys: [key],
    clients: {},
    tokenLifetimeS,
    deviceClient: { id: 'workbench-cli', roles: ['USER'] },
  });
  const oidc = { issuer: provider.issuer, audience: AUDIENCE, deviceLogin: { clientId: 'workbench-cli' } };
  hub = await startHub(folder.path, { security: { enabled: true, oidc } });
}

const wb = (args: readonly string[]): Promise<WbOutcome> => callWb(folder.path, undefined, args).outcome;

interface Stored {
  readonly token: string;
  readonly signOn: { readonly refreshToken: string };
}

function stored(): Stored {
  const { profiles } = JSON.parse(readFileSync(join(folder.path, 'profiles.json'), 'utf8')) as {
    profiles: Record<string, Stored>;
  };
  const [profile] = Object.values(profiles);
  keepSecret(profile?.token ?? '');
  keepSecret(profile?.signOn.refreshToken ?? '');
  return profile as Stored;
}

/** Logs in as this user, who enters the code in a browser. */
async function logIn(user: string): Promise<WbOutcome> {
  const login = callWb(folder.path, undefined, ['login', hub.baseUrl]);
  const code = await eventually(() => /enter the code (\S+)/.exec(login.told())?.[1], 60_000);
  expect(login.told()).toContain(provider.issuer);
  await provider.approve(code, user);
  return login.outcome;
}

it('logs in by a browser, works as the user, and ends the sign-on at the logout', async () => {
  await start(600);
  expect(await logIn('ada')).toMatchObject({ code: 0, stdout: expect.stringContaining('Logged in') });
  const { token, signOn } = stored();
  const shown = await wb(['token', '--json']);
  expect(JSON.parse(shown.stdout)).toEqual({ url: hub.baseUrl, token });
  const script = join(folder.path, 'job.js');
  writeFileSync(script, '1');
  expect(await wb(['submit', '--script', script])).toMatchObject({ code: 0 });
  expect((await wb(['tasks', '--creator', 'ada'])).stdout).toContain('WAITING');
  expect(await wb(['logout'])).toMatchObject({ code: 0, stderr: '' });
  const again = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: signOn.refreshToken,
      client_id: 'workbench-cli',
    }),
  });
  expect(again.status).toBe(400);
});

it('is renewed by twenty programs at once without ending it', async () => {
  await start(SHORT_S);
  expect(await logIn('ada')).toMatchObject({ code: 0 });
  const before = stored();
  const all = await Promise.all(Array.from({ length: SHELLS }, () => wb(['tasks', '--json'])));
  expect(all.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(new Array(SHELLS).fill('0 '));
  expect(provider.refreshes()).toBeGreaterThan(0);
  expect(stored().token).not.toBe(before.token);
  expect(await wb(['tasks'])).toMatchObject({ code: 0 });
});

it('says what to do when the provider has ended it, refuses, or is away', async () => {
  await start(SHORT_S);
  expect(await logIn('ada')).toMatchObject({ code: 0 });
  const { signOn } = stored();
  await fetch(`${provider.issuer}/token/revocation`, {
    method: 'POST',
    body: new URLSearchParams({ token: signOn.refreshToken, client_id: 'workbench-cli' }),
  });
  expect(await wb(['tasks'])).toMatchObject({
    code: NOT_ALLOWED,
    stderr: expect.stringMatching(/the sign-on has ended.*wb login/),
  });
  await provider.stop();
  expect(await wb(['login', hub.baseUrl])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('the sign-on cannot be reached'),
  });
  mkdirSync(join(folder.path, 'other'));
  const other = await startHub(join(folder.path, 'other'), { security: { enabled: true } });
  expect(await wb(['login', other.baseUrl, '--sign-on'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no sign-on for wb'),
  });
});
