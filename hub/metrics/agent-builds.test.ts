import type { Installation } from '@workbench-hub/shared/domain/installation';
import { describe, expect, it } from 'vitest';
import type { AgentView } from '../core/ports/nodes.js';
import { agentBuilds } from './agent-builds.js';

const WINDOWS: Installation = { kind: 'FILE', os: 'windows', arch: 'x64' };

const agent = (id: string, rest: Partial<AgentView> = {}): AgentView => ({
  ...{ id, version: '1.0.0', revision: 'abc', address: null, status: 'UP', seenAtMs: 5 },
  ...{ clockOffsetMs: null, installation: WINDOWS, drain: null, instances: [] },
  ...rest,
});

describe('agents by build', () => {
  it('are counted with what they tell, and as unknown with what they do not', () => {
    const old = { version: '0.9.0', installation: { kind: null, os: null, arch: null } };
    expect(agentBuilds([agent('a'), agent('b', old), agent('c')])).toEqual([
      { labels: ['1.0.0', 'FILE', 'windows', 'x64'], value: 2 },
      { labels: ['0.9.0', 'unknown', 'unknown', 'unknown'], value: 1 },
    ]);
  });

  it('are those that are connected and no hubs', () => {
    const hub = { id: 'h', baseUrl: null, below: [] };
    expect(agentBuilds([agent('a', { status: 'DOWN' }), agent('b', { hub })])).toEqual([]);
  });

  it('have a bounded number of versions, the most frequent ones', () => {
    const rare = Array.from({ length: 30 }, (_, at) => agent(`r-${at}`, { version: `0.0.${at}` }));
    const samples = agentBuilds([...rare, agent('a'), agent('b')]);
    expect(samples).toHaveLength(21);
    expect(samples).toContainEqual({ labels: ['1.0.0', 'FILE', 'windows', 'x64'], value: 2 });
    expect(samples).toContainEqual({ labels: ['other', 'FILE', 'windows', 'x64'], value: 11 });
  });
});
