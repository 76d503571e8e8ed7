import { describe, expect, it } from 'vitest';
import { AgentHolders } from './agent-holders.js';

const OWN = 'hub-1';
const OTHER = 'hub-2';
const row = (hubId: string | null, epoch = 1) => ({ id: 'sim-1', hubId, epoch });

describe('the connection that counts', () => {
  it('is the one with the highest epoch', () => {
    const holders = new AgentHolders(OWN);
    expect(holders.joined('sim-1', OTHER, 2)).toBe(true);
    expect(holders.joined('sim-1', OWN, 1)).toBe(false);
    expect(holders.hubOf('sim-1')).toBe(OTHER);
    expect(holders.left('sim-1', 1)).toBe(false);
    expect(holders.left('sim-1', 2)).toBe(true);
    expect(holders.hubOf('sim-1')).toBeUndefined();
  });
});

describe('rows that are read', () => {
  it('add the agents of other hubs, and take away those that they do not have', () => {
    const holders = new AgentHolders(OWN);
    holders.joined('gone', OTHER, 1);
    expect(holders.reading()([row(OTHER)])).toEqual({ replaced: [], left: [] });
    expect(holders.hubOf('sim-1')).toBe(OTHER);
    expect(holders.hubOf('gone')).toBeUndefined();
  });

  it('leave alone what has changed since they began to be read', () => {
    const holders = new AgentHolders(OWN);
    const take = holders.reading();
    holders.joined('sim-1', OWN, 2);
    expect(take([row(OTHER)])).toEqual({ replaced: [], left: [] });
    expect(holders.isOwn('sim-1')).toBe(true);
  });

  it('name the agents of this hub that another one has', () => {
    const holders = new AgentHolders(OWN);
    holders.joined('sim-1', OWN, 1);
    expect(holders.reading()([row(OTHER, 2)])).toEqual({ replaced: ['sim-1'], left: [] });
    expect(holders.own).toEqual([]);
  });

  it('name the agents that they still connect to this hub, unless these join or leave now', () => {
    const holders = new AgentHolders(OWN);
    const leftBy = () => holders.reading()([row(OWN)]).left;
    expect(leftBy()).toEqual([row(OWN)]);
    const [endFirst, endSecond] = [holders.changing('sim-1'), holders.changing('sim-1')];
    expect(leftBy()).toEqual([]);
    endFirst();
    expect(leftBy()).toEqual([]);
    endSecond();
    expect(leftBy()).toEqual([row(OWN)]);
  });
});
