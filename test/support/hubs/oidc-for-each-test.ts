/** One OIDC provider for each test of a file, and a hub that accepts its tokens. */
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { HandDrivenRuntime } from '../engine/hand-driven-runtime.js';
import { type Answer, Api } from '../interface/api.js';
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

/** The header of a token signed with {@link oldKey}. */
export const RS256 = { alg: 'RS256', kid: 'first' };

/** The key of the provider. */
export let oldKey: ProviderKey;
/** A key that the provider may sign with later. */
export let newKey: ProviderKey;
/** A key that the provider never has, under the name of the first. */
export let foreignKey: ProviderKey;

/** The parts of the running test. */
export let runtime: HandDrivenRuntime;
export let provider: SignOnProvider;
export let hub: RunningHub;
export let api: Api;

/** Registers the hooks; call it once at the top of the file. */
export function signOnForEachTest(): void {
  // Keys take long to generate: one set serves all tests.
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

/** Replaces the running hub; rejects when the new one does not start. */
export async function useOtherHub(oidc: Partial<Oidc>, users?: HubSetup['users']): Promise<void> {
  await hub.stop();
  await useHub(oidc, users);
}

/** Replaces the provider, running or stopped, on the same port. */
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

/** Claims of a good token, with these changed. */
export function claims(other: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const nowS = Math.floor(runtime.clock.nowMs() / 1000);
  const good = { iss: provider.issuer, aud: AUDIENCE, sub: 'pipeline', roles: ['USER'], iat: nowS };
  return { ...good, exp: nowS + 600, ...other };
}

/** A token with these claims that the test signs with the provider's key. */
export function signed(claimed: Readonly<Record<string, unknown>>): Promise<string> {
  return forged(claimed, oldKey.privateKey, RS256);
}
