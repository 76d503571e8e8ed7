import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import {
  ProviderRefusal,
  type ProviderTokens,
  type Seal,
  type SignOnProvider,
} from '../../core/ports/sign-on.js';
import { BrowserSignOn } from './browser-sign-on.js';

const COOKIE = sealed('refresh-1');
const CALLER: Caller = { username: 'ada', roles: ['USER'], by: 'SIGN_ON' };

let runtime: ReturnType<typeof manualRuntime>;
/** Refresh tokens that the provider was asked to exchange. */
let asked: string[];
let refresh: () => Promise<ProviderTokens>;
let identify: () => Promise<Caller>;
let signOn: BrowserSignOn;
beforeEach(() => {
  runtime = manualRuntime();
  asked = [];
  refresh = async () => ({ accessToken: 'access-2', refreshToken: 'refresh-2' });
  identify = async () => CALLER;
  const log = { warn: () => undefined } as unknown as Logger;
  signOn = new BrowserSignOn({
    provider: { refresh: refreshOnce } as unknown as SignOnProvider,
    authenticator: { recognizes: () => true, identify: () => identify() },
    logInSeal: SEAL,
    refreshSeal: SEAL,
    lifetimeMs: 60_000,
    secrets: { hashOf: (secret) => secret },
    clock: runtime.clock,
    log,
  });
});

const SEAL: Seal = {
  close: async ({ refreshToken = '' }) => sealed(refreshToken),
  open: async (cookie) => ({ refreshToken: cookie?.replace('sealed ', '') }),
};

function sealed(token: string): string {
  return `sealed ${token}`;
}

/** A provider that exchanges each token once. */
async function refreshOnce(token: string): Promise<ProviderTokens> {
  if (asked.includes(token)) throw new ProviderRefusal('invalid_grant');
  const tokens = await refresh();
  asked.push(token);
  return tokens;
}

const RENEWED = { username: 'ada', accessToken: 'access-2', refresh: sealed('refresh-2') };

describe('a refresh of a log-in by the sign-on', () => {
  it.each(['STORE_UNAVAILABLE', 'SIGN_ON_UNAVAILABLE'] as const)(
    'succeeds with the tokens that the provider gave before a failure of the hub (%s)',
    async (code) => {
      identify = async () => {
        throw new HubError(code, 'away for a moment');
      };
      await expect(signOn.refresh(COOKIE)).rejects.toMatchObject({ code });
      identify = async () => CALLER;
      expect(await signOn.refresh(COOKIE)).toEqual(RENEWED);
      expect(asked).toEqual(['refresh-1']);
    },
  );

  it('asks the provider again after a failure of the provider', async () => {
    refresh = async () => {
      throw new Error('connection refused');
    };
    await expect(signOn.refresh(COOKIE)).rejects.toMatchObject({ code: 'SIGN_ON_UNAVAILABLE' });
    refresh = async () => ({ accessToken: 'access-2', refreshToken: 'refresh-2' });
    expect(await signOn.refresh(COOKIE)).toEqual(RENEWED);
  });

  it('with a spent token gets the same tokens for 15 seconds, at the same time too, and no more afterwards', async () => {
    const both = await Promise.all([signOn.refresh(COOKIE), signOn.refresh(COOKIE)]);
    await runtime.advance(14_999);
    for (const each of [...both, await signOn.refresh(COOKIE)]) expect(each).toEqual(RENEWED);
    expect(asked).toEqual(['refresh-1']);
    await runtime.advance(1);
    await expect(signOn.refresh(COOKIE)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('does not give a caller whom the hub no longer accepts the tokens of before', async () => {
    await signOn.refresh(COOKIE);
    identify = async () => {
      throw new HubError('FORBIDDEN', 'no role');
    };
    await expect(signOn.refresh(COOKIE)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});
