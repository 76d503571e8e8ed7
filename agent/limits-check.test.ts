import { expect, it } from 'vitest';
import { agentConfigSchema } from './config.js';
import { limitsFault } from './limits-check.js';
import type { ControlGroups, FoundControlGroups } from './process/control-groups.js';

const LIMITED = { id: 'b', version: '1', count: 2, limits: { memory: '1GiB' } };

const config = (...instances: object[]) =>
  agentConfigSchema.parse({ instances: [{ id: 'a', version: '1' }, ...instances] });

const groups = (keepsLimits: boolean): FoundControlGroups => ({
  groups: { keepsLimits } as ControlGroups,
  leftOver: 0,
});

it('limits that nothing would keep are a fault, with the remedy', () => {
  expect(limitsFault(config(LIMITED), groups(true))).toBeNull();
  expect(limitsFault(config(LIMITED), groups(false))).toMatch(/^limits of b-1, b-2: only .* MemoryMax= /);
  expect(limitsFault(config(LIMITED), { unavailable: 'it may not' })).toMatch(
    /^limits of .*, since it may not$/,
  );
});

it('a host without limits is sound anywhere', () => {
  expect(limitsFault(config(), groups(false))).toBeNull();
  expect(limitsFault(config(), { unavailable: 'it may not' })).toBeNull();
});
