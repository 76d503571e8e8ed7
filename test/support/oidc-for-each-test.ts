/** For files in which each test has a company's sign-on of its own, and a hub that takes the tokens of it. */
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type Answer, Api } from './api.js';
import { HandDrivenRuntime } from './hand-driven-runtime.js';
import {
  AUDIENCE,
  forged,
  type ProviderKey,
  type ProviderSetup,
  providerKey,
  type SignOnProvider,
  startProvider,
} from './oidc-provider.js';
import { type HubSetup, type RunningHub, startHub } from './running-hub.js';

export const TASKS = '/api/2.0/workbench/task';
export const LIST = `${TASKS}/list`;

const CLIENTS = {
  boss: ['ADMIN'],
  pipeline: ['user', 'something else'],
  auditor: 'openid viewer',
  stranger: ['accounting'],
  nobody: undefined,
};

/** The header of a token that is signed with {@link oldKey}. */
export const RS256 = { alg: 'RS256', kid: 'first' };

/** The key of the provider. */
export let oldKey: ProviderKey;
/** One that it may sign with later. */
export let newKey: ProviderKey;
/** One that it never has, under the name of the first. */
export let foreignKey: ProviderKey;

/** Those of the test that runs. */
export let runtime: HandDrivenRuntime;
export let provider: SignOnProvider;
export let hub: RunningHub;
export let api: Api;

/** To be called once, at the top of the file. */
export function signOnForEachTest(): void {
  // Making keys takes long, so they are made once.
  beforeAll(async () => {
    [oldKey, newKey, foreignKey] = await Promise.all([
      providerKey('first'),
      providerKey('second'),
      providerKey('first'),
    ]);
  });
  beforeEach(async () => {
    runtime = new HandDrivenRuntime(Date.now());
    provider = await startProvider({ keys: [oldKey], clients: CLIENTS });
    await useHub({});
  });
  afterEach(async () => {
    await hub.stop();
    await provider.stop();
  });
}

type Oidc = NonNullable<NonNullable<NonNullable<HubSetup['config']>['security']>['oidc']>;

async function useHub(oidc: Partial<Oidc>, users: HubSetup['users'] = {}): Promise<void> {
  hub = await startHub({
    runtime,
    users,
    config: {
      security: { enabled: true, oidc: { issuer: provider.issuer, audience: AUDIENCE, ...oidc } },
    },
  });
  api = new Api(hub);
}

/** Puts another hub in the place of the one that runs; rejects with what its start rejects with. */
export async function useOtherHub(oidc: Partial<Oidc>, users?: HubSetup['users']): Promise<void> {
  await hub.stop();
  await useHub(oidc, users);
}

/** Puts another provider in the place of the one that runs or was stopped, on the same port. */
export async function useOtherProvider(setup: Partial<ProviderSetup> = {}): Promise<void> {
  const { port } = provider;
  await provider.stop();
  provider = await startProvider({ keys: [oldKey], clients: CLIENTS, port, ...setup });
}

export function as(token: string, method: string, path: string, json?: unknown): Promise<Answer> {
  return api.call(method, path, { json, headers: { authorization: `Bearer ${token}` } });
}

export async function expectRefused(token: string, status: number, message: RegExp): Promise<void> {
  const answer = await as(token, 'GET', LIST);
  expect(answer.status, answer.text).toBe(status);
  expect(answer.body['message']).toMatch(message);
  expect(answer.text).not.toContain(token);
  expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
}

/** Claims of a good token, for those that differ in one. */
export function claims(other: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const nowS = Math.floor(runtime.clock.nowMs() / 1000);
  const good = { iss: provider.issuer, aud: AUDIENCE, sub: 'pipeline', roles: ['USER'], iat: nowS };
  return { ...good, exp: nowS + 600, ...other };
}

/** A token with these claims, signed with the key of the provider, though it never gave it. */
export function signed(claimed: Readonly<Record<string, unknown>>): Promise<string> {
  return forged(claimed, oldKey.privateKey, RS256);
}
