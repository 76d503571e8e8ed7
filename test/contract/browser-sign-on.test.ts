/** Log-in of browsers by the company's sign-on, with a real provider (contract 12.24). */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import {
  AUDIENCE,
  type ProviderKey,
  type ProviderSetup,
  providerKey,
  type SignOnProvider,
  startProvider,
} from '../support/hubs/oidc-provider.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { type Answer, Api } from '../support/interface/api.js';
import { keepSecret } from '../support/secrets.js';

const CLIENT = { id: 'workbench-console', secret: 'the secret of the client', roles: ['USER'] };
const MINUTE_MS = 60_000;

let key: ProviderKey;
let provider: SignOnProvider;
let runtime: HandDrivenRuntime;
let hub: RunningHub;
let api: Api;

async function start(
  browserClient: ProviderSetup['browserClient'] = CLIENT,
  { clientSecret = browserClient?.secret ?? null }: { clientSecret?: string | null } = {},
): Promise<void> {
  provider = await startProvider({ keys: [key], clients: {}, browserClient });
  const browserLogin = { clientId: CLIENT.id, clientSecret };
  hub = await startHub({
    runtime,
    config: {
      security: { enabled: true, oidc: { issuer: provider.issuer, audience: AUDIENCE, browserLogin } },
    },
  });
  api = new Api(hub);
}

beforeAll(async () => {
  key = await providerKey('first');
});
beforeEach(() => {
  runtime = new HandDrivenRuntime(Date.now());
});
afterEach(async () => {
  await hub.stop();
  await provider.stop();
});

/** A browser that keeps cookies, of hub and provider alike. */
class Browser {
  readonly cookies = new Map<string, string>();

  get #header(): Record<string, string> {
    if (this.cookies.size === 0) return {};
    return { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
  }

  #keep(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }

  async #get(address: string): Promise<Response> {
    const response = await fetch(address, { redirect: 'manual', headers: this.#header });
    this.#keep(response.headers);
    return response;
  }

  async post(path: string, json?: unknown): Promise<Answer> {
    const headers = { ...this.#header, origin: hub.address };
    const answer = await api.call('POST', `/api/x/sign-on/${path}`, { json, headers });
    this.#keep(answer.headers);
    return answer;
  }

  /** Begins a log-in and follows the provider; the query with which it comes back. */
  async logInAtProvider(answer = 'user=ada'): Promise<string> {
    const begun = await this.post('begin');
    expect(begun.status).toBe(200);
    let address = String(begun.body['location']);
    while (!address.startsWith(hub.address)) {
      const page = await this.#get(address.includes('/log-in/') ? `${address}?${answer}` : address);
      address = new URL(page.headers.get('location') ?? '', address).href;
    }
    expect(new URL(address).pathname).toBe('/sign-on');
    const { search, searchParams } = new URL(address);
    keepSecret(searchParams.get('code') ?? '');
    return search.slice(1);
  }

  finish(query: string): Promise<Answer> {
    return this.post('finish', { query });
  }
}

function tokenIn({ status, text, body }: Answer): string {
  expect(status, text).toBe(200);
  const token = String(body['accessToken']);
  keepSecret(token);
  return token;
}

async function callerWith(token: string): Promise<unknown> {
  const response = await fetch(`${hub.address}/api/x/caller`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return response.json();
}

describe('a log-in by the sign-on', () => {
  it.each([
    ['a confidential client', CLIENT],
    ['a public client', { id: CLIENT.id, roles: ['USER'] }],
  ])('gives a token of the provider to %s, renews it, and ends at the provider', async (_, client) => {
    await start(client);
    expect(await (await fetch(`${hub.address}/api/x/sign-on`)).json()).toEqual({
      browserLogin: { issuer: provider.issuer },
      tokenRequired: true,
    });
    const browser = new Browser();
    const token = tokenIn(await browser.finish(await browser.logInAtProvider()));
    expect(await callerWith(token)).toEqual({ username: 'ada', roles: ['USER'], by: 'SIGN_ON' });

    const spent = new Map(browser.cookies);
    const renewed = tokenIn(await browser.post('refresh'));
    expect(await callerWith(renewed)).toMatchObject({ username: 'ada' });

    // Another tab with the same cookie gets the same, as the provider would end the log-in otherwise.
    // Each hub remembers the exchanges that it has made.
    if (HUBS === 1) {
      const tab = new Browser();
      for (const [name, value] of spent) tab.cookies.set(name, value);
      expect(tokenIn(await tab.post('refresh'))).toBe(renewed);
      expect(provider.refreshes()).toBe(1);
    }

    const last = new Map(browser.cookies);
    expect((await browser.post('end')).status).toBe(204);
    expect((await browser.post('refresh')).status).toBe(401);
    for (const [name, value] of last) browser.cookies.set(name, value);
    expect((await browser.post('refresh')).body['message']).toBe(
      'the sign-on does not log you in, or no longer: invalid_grant',
    );
  });

  it('keeps secrets of browser and provider from each other, and all of them out of addresses', async () => {
    await start();
    const browser = new Browser();
    const begun = await browser.post('begin');
    const { searchParams } = new URL(String(begun.body['location']));
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    expect(searchParams.get('redirect_uri')).toBe(`${hub.address}/sign-on`);
    const [cookie] = begun.headers.getSetCookie();
    expect(cookie).toMatch(/; Path=\/api\/x\/sign-on; HttpOnly; SameSite=Strict$/);
    // Five parts of an encrypted token, none of which is the state.
    expect(browser.cookies.get('signOnLogIn')?.split('.')).toHaveLength(5);
    expect(cookie).not.toContain(searchParams.get('state'));
  });

  it('ends in the browser that began it, once, and in time', async () => {
    await start();
    const victim = new Browser();
    const query = await new Browser().logInAtProvider('user=mallory');
    await victim.post('begin');
    for (const refused of [await victim.finish(query), await new Browser().finish(query)]) {
      expect(refused.status).toBe(401);
      expect(refused.body['message']).toMatch(/^this is not the end of a log-in that this browser began/);
    }
    const late = await victim.logInAtProvider();
    const before = new Map(victim.cookies);
    runtime.skip(16 * MINUTE_MS);
    expect((await victim.finish(late)).status).toBe(401);
    expect(victim.cookies.has('signOnLogIn')).toBe(false);
    runtime.skip(-16 * MINUTE_MS);
    for (const [name, value] of before) victim.cookies.set(name, value);
    tokenIn(await victim.finish(late));
    for (const [name, value] of before) victim.cookies.set(name, value);
    expect((await victim.finish(late)).body['message']).toMatch(/invalid_grant$/);
  });

  it('refuses pages of other origins', async () => {
    await start();
    for (const path of ['begin', 'finish', 'refresh', 'end']) {
      const response = await fetch(`${hub.address}/api/x/sign-on/${path}`, {
        method: 'POST',
        headers: { origin: 'https://evil.example', 'content-type': 'application/json' },
        body: JSON.stringify({ query: '' }),
      });
      expect(response.status, path).toBe(403);
    }
  });

  it('says that the provider refused, gave no role, or is away', async () => {
    await start({ ...CLIENT, roles: ['accounting'] });
    const browser = new Browser();
    const canceled = await browser.finish(await browser.logInAtProvider('refuse'));
    expect(canceled.status).toBe(401);
    expect(canceled.body['message']).toBe('the sign-on does not log you in, or no longer: access_denied');
    const stranger = await browser.finish(await browser.logInAtProvider());
    expect(stranger.status).toBe(403);
    expect(stranger.body['message']).toMatch(/^the sign-on gives ada none of the roles/);
    const query = await browser.logInAtProvider();
    await provider.stop();
    const away = await browser.finish(query);
    expect([away.status, away.body['message']]).toEqual([503, 'the sign-on cannot be reached: try again']);
  });

  it('tells the operator when the provider does not accept the client', async () => {
    await start(CLIENT, { clientSecret: 'another secret' });
    const browser = new Browser();
    expect((await browser.finish(await browser.logInAtProvider())).status).toBe(401);
    expect(hub.log).toContainEqual(
      expect.objectContaining({
        msg: 'the sign-on refuses this hub; check security.oidc.browserLogin',
        reason: 'invalid_client',
      }),
    );
  });
});

it('is a 404 where browsers have no such log-in', async () => {
  provider = await startProvider({ keys: [key], clients: {} });
  hub = await startHub({ config: { security: { enabled: true } } });
  api = new Api(hub);
  const browser = new Browser();
  for (const path of ['begin', 'refresh', 'end']) expect((await browser.post(path)).status, path).toBe(404);
  expect((await browser.finish('code=1&state=2')).status).toBe(404);
  expect(await (await fetch(`${hub.address}/api/x/sign-on`)).json()).toEqual({ tokenRequired: true });
});
