/** Gauges of the hubs of a cluster, as this hub sees them; a hub that has its store alone is the only one. */
import type { Hubs, HubView } from '../core/ports/hubs.js';
import type { HubMetrics } from './hub-metrics.js';
import { whileAsked } from './while-asked.js';

export function observeCluster(
  metrics: Pick<HubMetrics, 'observe'>,
  hubs: Pick<Hubs, 'all' | 'ownId'>,
): void {
  const all = whileAsked(() => hubs.all());
  const own = async () => (await all()).find(({ id }) => id === hubs.ownId);
  metrics.observe('cluster_hubs', 'Hubs of the cluster, by status.', 'status', async () => {
    const views = await all();
    const up = views.filter(({ isLive }) => isLive).length;
    return { UP: up, DOWN: views.length - up };
  });
  metrics.observe('cluster_versions', 'Hubs of the cluster that are up, by version.', 'version', async () =>
    countVersions(await all()),
  );
  metrics.observe(
    'cluster_schedulers',
    'Hubs of the cluster that are its scheduler; 0 while there is none.',
    null,
    async () => (await all()).filter(({ isScheduler }) => isScheduler).length,
  );
  metrics.observe(
    'cluster_term',
    'Term of the scheduler of the cluster; 0 while there is none, and for a hub that has its store alone.',
    null,
    async () => Math.max(0, ...(await all()).map(({ term }) => term ?? 0)),
  );
  metrics.observe('scheduler', '1 while this hub is the scheduler.', null, async () =>
    (await own())?.isScheduler ? 1 : 0,
  );
  metrics.observe(
    'agents_connected',
    'Agents that are connected to this hub.',
    null,
    async () => (await own())?.agents ?? 0,
  );
  metrics.observe(
    'clock_offset_seconds',
    "Lead of the clock of this hub over the database's.",
    null,
    async () => ((await own())?.clockOffsetMs ?? 0) / 1000,
  );
}

function countVersions(views: readonly HubView[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { version } of views.filter(({ isLive }) => isLive))
    counts[version] = (counts[version] ?? 0) + 1;
  return counts;
}
