import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AccountStoreUnderTest, OpenAccountStore } from './account-store-under-test.js';

export function describeAgentCredentials(open: OpenAccountStore): void {
  let store: AccountStoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const NONE = {
    codeHash: null,
    codeExpiresAtMs: null,
    codeSpentAtMs: null,
    credentialHash: null,
    enrolledAtMs: null,
    revokedAtMs: null,
    joinedAtMs: null,
  };
  const enroll = async (agentId: string, credentialHash = `credential of ${agentId}`) => {
    await store.agentCredentials.putCode(agentId, `code of ${agentId}`, 1000);
    return store.agentCredentials.exchange(agentId, `code of ${agentId}`, credentialHash, 500);
  };

  describe('an enrollment code', () => {
    it('is exchanged for a credential once, before it expires', async () => {
      const credentials = store.agentCredentials;
      await credentials.putCode('a', 'code', 1000);
      expect(await credentials.findByCode('code')).toEqual({
        ...NONE,
        agentId: 'a',
        codeHash: 'code',
        codeExpiresAtMs: 1000,
      });
      expect(await credentials.exchange('a', 'other code', 'credential', 500)).toBe(false);
      expect(await credentials.exchange('b', 'code', 'credential', 500)).toBe(false);
      expect(await credentials.exchange('a', 'code', 'credential', 1000)).toBe(false);
      expect(await credentials.findByCredential('credential')).toBeUndefined();
      expect(await credentials.exchange('a', 'code', 'credential', 999)).toBe(true);
      expect(await credentials.exchange('a', 'code', 'second', 999)).toBe(false);
      expect(await credentials.findByCredential('credential')).toEqual({
        agentId: 'a',
        codeHash: 'code',
        codeExpiresAtMs: 1000,
        codeSpentAtMs: 999,
        credentialHash: 'credential',
        enrolledAtMs: 999,
        revokedAtMs: null,
        joinedAtMs: null,
      });
    });

    it('replaces the previous one, and the credential only when it is used', async () => {
      const credentials = store.agentCredentials;
      await enroll('a', 'first');
      await credentials.putCode('a', 'later code', 2000);
      expect(await credentials.findByCode('code of a')).toBeUndefined();
      expect(await credentials.findByCredential('first')).toMatchObject({ codeSpentAtMs: null });
      expect(await credentials.exchange('a', 'later code', 'second', 1500)).toBe(true);
      expect(await credentials.findByCredential('first')).toBeUndefined();
      expect(await credentials.find('a')).toMatchObject({ credentialHash: 'second', enrolledAtMs: 1500 });
    });

    it('yields one credential when it is used twice at once', async () => {
      await store.agentCredentials.putCode('a', 'code', 1000);
      const command = await store.beside();
      try {
        const exchanged = await Promise.all(
          [store, command].map(({ agentCredentials }, at) =>
            agentCredentials.exchange('a', 'code', `credential ${at}`, 500),
          ),
        );
        expect(exchanged.sort()).toEqual([false, true]);
      } finally {
        await command.close();
      }
    });
  });

  describe('a credential of an agent', () => {
    it('is revoked once, with the open code, and replaced by another enrollment', async () => {
      const credentials = store.agentCredentials;
      expect(await credentials.revoke('a', 600)).toBe(false);
      await enroll('a');
      await credentials.putCode('a', 'open code', 1000);
      expect(await credentials.revoke('a', 600)).toBe(true);
      expect(await credentials.findByCode('open code')).toBeUndefined();
      expect(await credentials.findByCredential('credential of a')).toMatchObject({ revokedAtMs: 600 });
      expect(await credentials.revoke('a', 700)).toBe(false);
      expect(await credentials.find('a')).toMatchObject({ revokedAtMs: 600 });
      expect(await enroll('a', 'again')).toBe(true);
      expect(await credentials.find('a')).toMatchObject({ credentialHash: 'again', revokedAtMs: null });
    });

    it('that is revoked takes a later code with it', async () => {
      const credentials = store.agentCredentials;
      await enroll('a');
      await credentials.revoke('a', 600);
      await credentials.putCode('a', 'new code', 1000);
      expect(await credentials.revoke('a', 700)).toBe(true);
      expect(await credentials.exchange('a', 'new code', 'credential', 800)).toBe(false);
    });

    it('has the time of the latest join, and is listed by id', async () => {
      await enroll('b');
      await enroll('a');
      await store.agentCredentials.joined('b', 800);
      const all = await store.agentCredentials.all();
      expect(all.map(({ agentId, joinedAtMs }) => [agentId, joinedAtMs])).toEqual([
        ['a', null],
        ['b', 800],
      ]);
    });
  });

  describe('the version of the credentials', () => {
    it('changes with each change, here and by a command, and only then', async () => {
      const command = await store.beside();
      try {
        const { agentCredentials: here } = store;
        const { agentCredentials: there } = command;
        const seen = new Set([await here.version()]);
        const changes: (() => Promise<unknown>)[] = [
          () => here.putCode('a', 'code', 1000),
          () => here.exchange('a', 'code', 'credential', 500),
          () => there.revoke('a', 600),
          () => there.putCode('a', 'code', 1000),
          () => there.exchange('a', 'code', 'credential', 700),
          () => here.revoke('a', 800),
        ];
        for (const [at, change] of changes.entries()) {
          await change();
          const version = await here.version();
          seen.add(version);
          expect(seen.size, `change ${at}`).toBe(at + 2);
          expect(await here.version()).toBe(version);
        }
      } finally {
        await command.close();
      }
    });
  });
}
