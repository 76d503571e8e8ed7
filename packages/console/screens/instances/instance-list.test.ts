import type { AgentState, WorkbenchInstance } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { listOf, MAX_ROWS } from './instance-list.js';

function instance(id: string, part: Partial<WorkbenchInstance> = {}): WorkbenchInstance {
  return { id, version: '9.1.0', revision: '1', labels: [], status: 'UP', working: false, ...part };
}

const agent = (id: string, drained = false) => ({ id, status: 'UP', drained }) as AgentState;

it('counts what is up as free or working, whatever state is wanted', () => {
  const instances = [instance('a'), instance('b', { working: true }), instance('c', { status: 'FAILED' })];
  const { counts, matching } = listOf(instances, [], { state: 'FREE', text: '' });
  expect(counts).toMatchObject({ FREE: 1, WORKING: 1, FAILED: 1, DOWN: 0 });
  expect(matching).toBe(1);
});

it('counts nothing of a drained agent as free', () => {
  const instances = [
    instance('a', { agentId: 'host-1' }),
    instance('b', { agentId: 'host-1', working: true }),
    instance('c', { agentId: 'host-1', status: 'DOWN' }),
    instance('d', { agentId: 'host-2' }),
  ];
  const { counts } = listOf(instances, [agent('host-1', true), agent('host-2')], {
    state: undefined,
    text: '',
  });
  expect(counts).toMatchObject({ DRAINED: 1, WORKING: 1, DOWN: 1, FREE: 1 });
});

it('finds each word in id, version, label or agent', () => {
  const instances = [
    instance('sim-1', { labels: ['GPU'], agentId: 'host-1' }),
    instance('sim-2', { labels: ['gpu'], agentId: 'host-2' }),
    instance('sim-3', { agentId: 'host-2' }),
  ];
  const idsFor = (text: string) =>
    listOf(instances, [], { state: undefined, text }).groups.flatMap((group) =>
      group.instances.map(({ id }) => id),
    );
  expect(idsFor('gpu')).toEqual(['sim-1', 'sim-2']);
  expect(idsFor('host-2 GPU')).toEqual(['sim-2']);
  expect(idsFor('9.1')).toHaveLength(3);
});

it('shows the own machine first, and agents without instances only without a filter', () => {
  const instances = [instance('x', { agentId: 'b' }), instance('own')];
  const groups = (text: string) =>
    listOf(instances, [agent('a'), agent('b')], { state: undefined, text }).groups.map(({ id }) => id);
  expect(groups('')).toEqual([undefined, 'a', 'b']);
  expect(groups('x')).toEqual(['b']);
});

it('leaves rows out beyond a limit, and counts them', () => {
  const many = Array.from({ length: MAX_ROWS + 5 }, (_, at) => instance(`sim-${at}`));
  const { groups, matching } = listOf(many, [], { state: undefined, text: '' });
  expect(matching).toBe(MAX_ROWS + 5);
  expect(groups[0]?.instances).toHaveLength(MAX_ROWS);
});
