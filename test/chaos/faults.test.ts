/** The kinds of faults of a chaos run, drawn for hosts, links and disks that are not there. */
import { readFile } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { seededRandom } from '../support/random.js';
import type { Cluster } from './cluster.js';
import { Faults } from './faults.js';

/** Faults are over at once, and follow each other without pauses. */
vi.mock('node:timers/promises', () => ({ setTimeout: () => Promise.resolve() }));

/** Each run of this duration draws thousands of faults. */
const DRAWS_FOR_MS = 200;

/** Something on which every action takes place, with no effect. */
const passive = <T extends object>(given: T) =>
  new Proxy(given, {
    get: (target, name) => Reflect.get(target, name) ?? (name === 'then' ? undefined : async () => undefined),
  });

interface Parts {
  readonly hubs: number;
  readonly hasDatabase?: boolean;
  /** Whether the machine allows faults of disks and of the network. */
  readonly hasNamespaces?: boolean;
}

function faultsOf({ hubs, hasDatabase = false, hasNamespaces = true }: Parts): Faults {
  const named = (name: string) => ({ name, proxy: passive({}) });
  const all = Array.from({ length: hubs }, (_, at) => passive({ name: `hub-${at + 1}` }));
  let hasStandby = hubs > 1;
  const database = passive({
    links: all.map(() => passive({})),
    get hasStandby() {
      return hasStandby;
    },
    failOver: async () => {
      hasStandby = false;
    },
  });
  const parts = {
    hubs: all,
    agents: [passive({ name: 'a' })],
    clients: [named('link of clients')],
    agentLinks: [named('link of a')],
    signOnLink: passive({}),
    store: { database: hasDatabase ? database : undefined },
    ...(hasNamespaces ? { disk: passive({}), agentDisk: passive({}), link: passive({ canLose: true }) } : {}),
  };
  const cluster = { parts, isHub: (host: object) => all.includes(host as never), instances: () => [] };
  return new Faults(passive(cluster) as unknown as Cluster, seededRandom(1), () => undefined);
}

async function drawn(parts: Parts): Promise<string[]> {
  const faults = faultsOf(parts);
  await faults.run(performance.now() + DRAWS_FOR_MS);
  expect(faults.failures).toEqual([]);
  return [...faults.counts.keys()];
}

it('every kind of fault that the page shows is drawn, and no other', async () => {
  const page = await readFile(new URL('../../packages/docs/reliability.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Real faults\n(.*?)^## /ms.exec(page) ?? [];
  const shown = [...section.matchAll(/^ {2}(\S.*?) {2,}\d+$/gm)].map(([, kind]) => kind);
  expect(shown.length).toBeGreaterThan(30);
  const met = [
    ...(await drawn({ hubs: 1 })),
    ...(await drawn({ hubs: 1, hasDatabase: true })),
    ...(await drawn({ hubs: 3, hasDatabase: true })),
  ];
  // The kernel of the machine that the figures are from could not lose packets.
  expect([...new Set(met)].sort()).toEqual([...new Set([...shown, 'packets delayed and lost'])].sort());
});

it('the database fails over once in a run, to its standby', async () => {
  const faults = faultsOf({ hubs: 3, hasDatabase: true });
  await faults.run(performance.now() + DRAWS_FOR_MS);
  expect(faults.counts.get('database failed over')).toBe(1);
});

it('kinds strike in turns when that is asked, each as often as the others', async () => {
  const kinds = new Set(await drawn({ hubs: 3, hasDatabase: true }));
  const faults = faultsOf({ hubs: 3, hasDatabase: true });
  for (let strikes = 0; strikes < 3 * kinds.size - 2; strikes++) await faults.strikeNext((_, count) => count);
  kinds.delete('database failed over');
  expect(faults.counts.get('database failed over')).toBe(1);
  expect([...kinds].filter((kind) => faults.counts.get(kind) !== 3)).toEqual([]);
});

it('the faults that a machine without namespaces does not allow are left out, and named', async () => {
  expect(faultsOf({ hubs: 1 }).missing).toEqual([]);
  expect(faultsOf({ hubs: 1, hasNamespaces: false }).missing.map((what) => what.split(':')[0])).toEqual([
    'full disk',
    'link down',
    'packets delayed and lost',
  ]);
  const met = await drawn({ hubs: 1, hasNamespaces: false });
  expect(met.filter((kind) => /disk|network|packets/.test(kind))).toEqual([]);
});
