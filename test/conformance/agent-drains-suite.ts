import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AccountStoreUnderTest, OpenAccountStore } from './account-store-under-test.js';

export function describeAgentDrains(open: OpenAccountStore): void {
  let store: AccountStoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const A = { agentId: 'a', sinceMs: 100, by: 'anna' };
  const B = { agentId: 'b', sinceMs: 50, by: 'ben' };

  describe('a drain of an agent', () => {
    it('keeps its first timestamp and name, and is listed by agent', async () => {
      const { agentDrains } = store;
      expect(await agentDrains.all()).toEqual([]);
      expect(await agentDrains.drain(B)).toBe(true);
      expect(await agentDrains.drain(A)).toBe(true);
      expect(await agentDrains.drain({ agentId: 'a', sinceMs: 200, by: 'ben' })).toBe(false);
      expect(await agentDrains.all()).toEqual([A, B]);
    });

    it('ends once, and can begin again', async () => {
      const { agentDrains } = store;
      await agentDrains.drain(A);
      await agentDrains.drain(B);
      expect(await agentDrains.undrain('a')).toBe(true);
      expect(await agentDrains.undrain('a')).toBe(false);
      expect(await agentDrains.all()).toEqual([B]);
      const again = { ...A, sinceMs: 300 };
      expect(await agentDrains.drain(again)).toBe(true);
      expect(await agentDrains.all()).toEqual([again, B]);
    });

    it('keeps any text', async () => {
      const odd = { agentId: 'ä\0\uFDD0𝄞', sinceMs: 1, by: '\0' };
      await store.agentDrains.drain(odd);
      expect(await store.agentDrains.all()).toEqual([odd]);
      expect(await store.agentDrains.undrain('ä')).toBe(false);
      expect(await store.agentDrains.undrain(odd.agentId)).toBe(true);
    });

    it('is visible to another process at once, and outlasts the revocation of the credential', async () => {
      const command = await store.beside();
      try {
        await store.agentCredentials.putCode('a', 'code', 1000);
        expect(await command.agentDrains.drain(A)).toBe(true);
        expect(await store.agentDrains.all()).toEqual([A]);
        await store.agentCredentials.revoke('a', 600);
        expect(await store.agentDrains.drain(A)).toBe(false);
        expect(await store.agentDrains.undrain('a')).toBe(true);
        expect(await command.agentDrains.all()).toEqual([]);
      } finally {
        await command.close();
      }
    });
  });
}
