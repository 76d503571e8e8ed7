import type { RoleHolder, Roles } from '@workbench-hub/hub/core/ports/roles';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

export interface RolesUnderTest {
  readonly roles: Roles;
  close(): Promise<void>;
}

/** The role of the scheduler while no other hub contends for it. */
export function describeRoles(open: () => Promise<RolesUnderTest>): void {
  let opened: RolesUnderTest;
  let told: (string | number)[];
  beforeEach(async () => {
    opened = await open();
    told = [];
  });
  afterEach(() => opened.close());

  const holder = (rest: Partial<RoleHolder> = {}): RoleHolder => ({
    gained: async (term) => void told.push(term),
    lost: async () => void told.push('lost'),
    ...rest,
  });

  describe('the role of the scheduler', () => {
    it('is gained by the only hub that contends, and has begun when that resolves', async () => {
      const gained = async (term: number) => {
        await Promise.resolve();
        told.push(term);
      };
      await opened.roles.contend(holder({ gained }));
      expect(told).toEqual([expect.any(Number)]);
    });

    it('is lost when the hub resigns, once', async () => {
      const { roles } = opened;
      await roles.contend(holder());
      await roles.resign();
      expect(told).toEqual([expect.any(Number), 'lost']);
      await roles.resign();
      expect(told).toHaveLength(2);
    });

    it('may be resigned without having been contended for', async () => {
      await opened.roles.resign();
      expect(told).toEqual([]);
    });

    it('is not taken by a hub that cannot begin', async () => {
      const gained = async () => {
        throw new Error('the database is full');
      };
      await expect(opened.roles.contend(holder({ gained }))).rejects.toThrow('the database is full');
      await opened.roles.resign();
      expect(told).toEqual([]);
    });
  });
}
