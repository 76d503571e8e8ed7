import { describe, expect, it } from 'vitest';
import type { HubView } from '../core/ports/hubs.js';
import { observeCluster } from './cluster-gauges.js';
import type { Observed } from './hub-metrics.js';

const view = (id: string, rest: Partial<HubView> = {}): HubView => ({
  id,
  version: '1.4.0',
  address: `http://${id}:8080`,
  startedAtMs: 0,
  seenAtMs: 0,
  isLive: true,
  isScheduler: false,
  term: null,
  agents: 0,
  runningTasks: 0,
  clockOffsetMs: 0,
  preparedAtMs: null,
  ...rest,
});

/** Values of all gauges of hub `a`, and how often the hubs were asked for. */
async function measure(views: readonly HubView[]) {
  const gauges = new Map<string, () => Observed | Promise<Observed>>();
  let asked = 0;
  observeCluster(
    { observe: (name, _help, _label, ask) => void gauges.set(name, ask) },
    {
      ownId: 'a',
      all: async () => {
        asked++;
        return views;
      },
    },
  );
  const values = await Promise.all([...gauges].map(async ([name, ask]) => [name, await ask()] as const));
  return { values: Object.fromEntries(values), asked };
}

describe('the gauges of a cluster', () => {
  it('are those of all hubs, and those of this one, from one question', async () => {
    const { values, asked } = await measure([
      view('a', { agents: 3, clockOffsetMs: -250 }),
      view('b', { agents: 4, version: '1.5.0', isScheduler: true, term: 7, clockOffsetMs: 9000 }),
      view('c', { isLive: false, version: '1.3.0' }),
      view('d'),
    ]);
    expect(values).toEqual({
      cluster_hubs: { UP: 3, DOWN: 1 },
      cluster_versions: { '1.4.0': 2, '1.5.0': 1 },
      cluster_schedulers: 1,
      cluster_term: 7,
      scheduler: 0,
      agents_connected: 3,
      clock_offset_seconds: -0.25,
    });
    expect(asked).toBe(1);
  });

  it('say that there is no scheduler, and nothing of a hub that has no row yet', async () => {
    const { values } = await measure([view('b')]);
    expect(values).toMatchObject({
      cluster_schedulers: 0,
      cluster_term: 0,
      scheduler: 0,
      agents_connected: 0,
      clock_offset_seconds: 0,
    });
  });

  it('of the scheduler say that it is that', async () => {
    const { values } = await measure([view('a', { isScheduler: true, term: 2 })]);
    expect(values).toMatchObject({ cluster_schedulers: 1, cluster_term: 2, scheduler: 1 });
  });
});
