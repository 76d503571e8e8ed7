/** Agents of allocations: their secret is worth as much as the row of the allocation says. */

import type { Allocation } from '@workbench-hub/hub/core/hosts/allocation';
import { allocationWith } from '@workbench-hub/hub/core/hosts/fixtures/allocation';
import { AgentCredentials } from '@workbench-hub/hub/engine/accounts/agent-credentials';
import { agentSecrets } from '@workbench-hub/hub/security/agent-secrets';
import { allocationSecrets } from '@workbench-hub/hub/security/allocation-secrets';
import { beforeEach, describe, expect, it } from 'vitest';

describe('the agent of an allocation', () => {
  const secrets = allocationSecrets(Buffer.alloc(32, 1));
  const secret = secrets.of('gears-a');
  const identity = { by: 'ALLOCATION', agentId: 'gears-a' } as const;
  let allocations: Allocation[];
  let credentials: AgentCredentials;

  beforeEach(() => {
    allocations = [allocationWith({ state: 'STARTED' })];
    const unused = async () => undefined;
    credentials = new AgentCredentials({
      store: {
        putCode: unused,
        exchange: async () => false,
        revoke: async () => false,
        joined: unused,
        find: unused,
        findByCode: unused,
        findByCredential: unused,
        all: async () => [],
        version: async () => '7',
      },
      secrets: agentSecrets,
      clock: { nowMs: () => 0, monotonicMs: () => 0 },
      joinToken: 'token',
      allocations: {
        secrets,
        store: {
          find: async (id) => allocations.find((each) => each.id === id),
          version: async () => `${allocations.length}`,
        },
      },
    });
  });

  it('is identified by its secret, and joins under the id of the allocation only', async () => {
    expect(await credentials.identify(secret)).toEqual(identity);
    expect(await credentials.faultOf(identity, 'gears-a')).toBeUndefined();
    expect(await credentials.faultOf(identity, 'gears-b')).toContain('not valid for the id gears-b');
  });

  it('is refused when the allocation is over or unknown, also while it is connected', async () => {
    allocations = [allocationWith({ state: 'ENDED', endedAtMs: 1 })];
    expect(await credentials.identify(secret)).toEqual({
      refusal: 'the allocation gears-a is over',
      agentId: 'gears-a',
    });
    expect(await credentials.endOf(identity)).toBe('the allocation gears-a is over');
    allocations = [];
    expect(await credentials.endOf(identity)).toBe('there is no allocation gears-a');
  });

  it('cannot be played by an agent with the join token, while the allocation is open', async () => {
    const fault = await credentials.faultOf({ by: 'TOKEN' }, 'gears-a');
    expect(fault).toContain('the id gears-a is that of an allocation');
    expect(await credentials.faultOf({ by: 'TOKEN' }, 'host-a')).toBeUndefined();
  });

  it('has part in the version of the credentials', async () => {
    expect(await credentials.version()).toBe('7 1');
    allocations = [];
    expect(await credentials.version()).toBe('7 0');
  });
});
