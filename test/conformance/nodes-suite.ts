import type { AgentDrain } from '@workbench-hub/hub/core/ports/agent-drains';
import type { Nodes } from '@workbench-hub/hub/core/ports/nodes';
import type { JoiningAgent, StartedInstance } from '@workbench-hub/hub/core/ports/presence';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** Changes of agents, and how nodes show them. */
export interface NodesUnderTest {
  readonly nodes: Nodes;
  /** Joins an agent whose instances with these ids work. */
  join(agent: JoiningAgent, working: readonly string[]): Promise<void>;
  changed(agentId: string, report: StartedInstance): Promise<void>;
  leave(agentId: string): Promise<void>;
  drain(drains: readonly AgentDrain[]): Promise<void>;
  close(): Promise<void>;
}

export function describeNodes(open: () => Promise<NodesUnderTest>): void {
  let opened: NodesUnderTest;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.close());

  const report = (id: string, rest: Partial<StartedInstance> = {}): StartedInstance => ({
    id,
    version: '9.1',
    revision: '4711',
    labels: ['gears'],
    status: 'UP',
    upForMs: 1000,
    startedAtMs: 4,
    ...rest,
  });
  const agent = (id: string, instances: readonly StartedInstance[]): JoiningAgent => ({
    id,
    nodeId: `node of ${id}`,
    joinNumber: null,
    version: '1',
    revision: 'abc',
    address: '10.0.0.7',
    clockOffsetMs: -7,
    ...(id === 'b' && { installation: { kind: 'FILE', os: 'windows', arch: 'x64' } }),
    seenAtMs: 5,
    instances,
  });

  describe('nodes', () => {
    it('are shown by id, with what their agents reported and what works', async () => {
      await opened.join(
        agent('b', [report('z'), report('x', { status: 'DOWN', upForMs: null, startedAtMs: null })]),
        ['z'],
      );
      await opened.join(agent('a', [report('y')]), []);
      const shown = (await opened.nodes.instances()).map(({ profile, agentId, status, working }) => [
        ...[profile.id, agentId, status, working],
      ]);
      expect(shown).toEqual([
        ['x', 'b', 'DOWN', false],
        ['y', 'a', 'UP', false],
        ['z', 'b', 'UP', true],
      ]);
      const agents = await opened.nodes.agents();
      expect(agents.map(({ id, status }) => [id, status])).toEqual([
        ['a', 'UP'],
        ['b', 'UP'],
      ]);
      expect(agents[0]).toMatchObject({ installation: { kind: null, os: null, arch: null } });
      expect(agents[1]).toMatchObject({
        installation: { kind: 'FILE', os: 'windows', arch: 'x64' },
        ...{ version: '1', revision: 'abc', address: '10.0.0.7', clockOffsetMs: -7, drain: null },
        instances: [{ profile: { id: 'x' } }, { profile: { id: 'z', labels: ['gears'] }, working: true }],
      });
    });

    it('are found by id', async () => {
      await opened.join(agent('a', [report('s')]), []);
      expect(await opened.nodes.instance('s')).toEqual((await opened.nodes.instances())[0]);
      expect(await opened.nodes.agent('a')).toEqual((await opened.nodes.agents())[0]);
      expect(await opened.nodes.instance('a')).toBeUndefined();
      expect(await opened.nodes.agent('s')).toBeUndefined();
    });

    it('follow the changes of instances and the leaving of agents', async () => {
      await opened.join(agent('a', [report('s')]), ['s']);
      await opened.changed('a', report('s', { status: 'STOPPING' }));
      expect(await opened.nodes.instance('s')).toMatchObject({ status: 'STOPPING', working: true });
      await opened.leave('a');
      expect(await opened.nodes.instance('s')).toMatchObject({ status: 'UNKNOWN', working: true });
      expect(await opened.nodes.agent('a')).toMatchObject({ status: 'DOWN' });
    });

    it('show drains, also of unknown agents', async () => {
      const [known, unknown] = ['a', 'never'].map((agentId) => ({ agentId, sinceMs: 9, by: 'anna' }));
      if (!known || !unknown) throw new Error('two drains');
      await opened.join(agent('a', [report('s')]), []);
      await opened.drain([known, unknown]);
      expect(await opened.nodes.drains()).toEqual([known, unknown]);
      expect(await opened.nodes.agent('a')).toMatchObject({ drain: known, instances: [{ drain: known }] });
      expect(await opened.nodes.agent('never')).toBeUndefined();
      await opened.drain([]);
      expect(await opened.nodes.instance('s')).toMatchObject({ drain: null });
    });
  });
}
