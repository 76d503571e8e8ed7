import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { accessTokens } from './access-tokens.js';

const LIFETIME_MS = 60_000;

function tokens() {
  const { clock, advance } = manualRuntime();
  const key = { kid: 'key-of-the-test', secret: new Uint8Array(32).fill(7) };
  let ids = 0;
  const issuer = accessTokens({
    keys: { newest: async () => key, find: async () => key },
    lifetimeMs: LIFETIME_MS,
    clock,
    newId: () => `id-${++ids}`,
  });
  const used = async () => {
    const token = await issuer.issue({ sessionId: 's', username: 'anna' });
    expect(await issuer.verify(token, clock.nowMs())).toMatchObject({ username: 'anna' });
    return token;
  };
  return { issuer, used, clock, advance };
}

it('a verified token is remembered once', async () => {
  const { issuer, used, clock } = tokens();
  const token = await used();
  await issuer.verify(token, clock.nowMs());
  expect(issuer.remembered()).toBe(1);
});

it('tokens that have expired are forgotten when others are used', async () => {
  const { issuer, used, clock, advance } = tokens();
  const first = await used();
  await used();
  await advance(LIFETIME_MS / 2);
  await used();
  expect(issuer.remembered()).toBe(3);
  await advance(LIFETIME_MS / 2 + 1000);
  await used();
  expect(issuer.remembered()).toBe(2);
  expect(await issuer.verify(first, clock.nowMs())).toBeUndefined();
});
