import { describe, expect, it } from 'vitest';
import { HubAddresses, isHubAddress } from './hub-addresses.js';

const HUBS = ['ws://127.0.0.1:8081', 'ws://127.0.0.1:8082', 'ws://127.0.0.1:8083'];
const AGENTS = 1000;

const nodeId = (number: number) => `0c0e5e0e-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** Numbers of the agents that try each address first. */
function firsts(addresses: readonly string[], left: string | null = null): Map<string, number[]> {
  const found = new Map<string, number[]>(addresses.map((address) => [address, []]));
  for (let number = 0; number < AGENTS; number++) {
    const [first = ''] = new HubAddresses(addresses, nodeId(number)).round(left);
    found.get(first)?.push(number);
  }
  return found;
}

describe('the addresses of hubs', () => {
  it('are tried by each agent in an order of its own, so that agents spread within 20 %', () => {
    for (const agents of firsts(HUBS).values()) {
      expect(agents.length).toBeGreaterThan((AGENTS / HUBS.length) * 0.8);
      expect(agents.length).toBeLessThan((AGENTS / HUBS.length) * 1.2);
    }
  });

  it('have the same order in whatever order they are configured', () => {
    const round = new HubAddresses(HUBS, nodeId(1)).round(null);
    expect([...round].sort()).toEqual(HUBS);
    expect(new HubAddresses([...HUBS].reverse(), nodeId(1)).round(null)).toEqual(round);
  });

  it('that are left when one is away are shared by its agents, and the others stay where they are', () => {
    const [away = '', ...rest] = HUBS;
    const [before, after] = [firsts(HUBS), firsts(rest)];
    for (const address of rest) {
      const moved = (after.get(address) ?? []).filter((number) => before.get(away)?.includes(number));
      expect(moved.length).toBeGreaterThan((AGENTS / 6) * 0.75);
      expect(after.get(address)).toEqual(expect.arrayContaining(before.get(address) ?? []));
    }
  });

  it('that were learned are tried after those of the configuration', () => {
    const addresses = new HubAddresses(['ws://balancer'], nodeId(1));
    expect(addresses.learn('ws://balancer', HUBS)).toEqual([]);
    expect(addresses.round(null)[0]).toBe('ws://balancer');
    expect([...addresses.round(null).slice(1)].sort()).toEqual(HUBS);
    addresses.learn('ws://balancer', ['ws://127.0.0.1:8084']);
    expect(addresses.round(null)).toEqual(['ws://balancer', 'ws://127.0.0.1:8084']);
  });

  it('come last of their kind when the agent has left them', () => {
    for (const left of HUBS) expect(new HubAddresses(HUBS, nodeId(1)).round(left).at(-1)).toBe(left);
    const addresses = new HubAddresses(['ws://a'], nodeId(1));
    addresses.learn('ws://a', ['ws://b']);
    expect(addresses.round('ws://a')).toEqual(['ws://a', 'ws://b']);
  });

  it('are one when they differ in their spelling only', () => {
    const addresses = new HubAddresses(['ws://hub-1:80/', 'wss://hub-2/base/'], nodeId(1));
    addresses.learn('ws://hub-1', ['ws://hub-1', 'ws://HUB-1:80/']);
    expect([...addresses.round(null)].sort()).toEqual(['ws://hub-1:80/', 'wss://hub-2/base/']);
    expect(addresses.movesFrom('ws://hub-1', [])).toEqual(['wss://hub-2/base/']);
  });

  it('are learned with the scheme of the hub that tells them only', () => {
    const addresses = new HubAddresses(['wss://hub-1'], nodeId(1));
    const told = ['wss://hub-2', 'ws://hub-3', 'https://hub-4', 'wss://user:secret@hub-5', 'nonsense', ''];
    expect(addresses.learn('wss://hub-1', told)).toEqual(told.slice(1));
    expect(addresses.round(null)).toEqual(['wss://hub-1', 'wss://hub-2']);
    expect(addresses.movesFrom('wss://hub-1', ['ws://hub-3', 'nonsense', 'wss://hub-6'])).toEqual([
      'wss://hub-6',
      'wss://hub-2',
    ]);
  });

  it('to which an agent moves are those asked for, the other hubs, and then the configuration', () => {
    const addresses = new HubAddresses(['ws://a', 'ws://b'], nodeId(1));
    addresses.learn('ws://a', ['ws://c', 'ws://d']);
    const moves = addresses.movesFrom('ws://a', ['ws://d']);
    expect(moves).toEqual(['ws://d', 'ws://c', 'ws://b']);
  });
});

describe('an address of a hub', () => {
  it.each(['ws://127.0.0.1:8080', 'wss://hub.example.com/base/', 'ws://[::1]:8080'])('is %s', (text) => {
    expect(isHubAddress(text)).toBe(true);
  });

  it.each(['http://hub', 'hub:8080', 'ws://', 'ws://hub?a=b', 'ws://hub#a', 'ws://user@hub', ''])(
    'is not %j',
    (text) => expect(isHubAddress(text)).toBe(false),
  );
});
