/** Checks of the hubs on one database server, whether or not the examined one runs. */
import { type Finding, fault, ok, warning } from '@workbench-hub/shared/checks/finding';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { HubView } from '../../core/ports/hubs.js';
import type { StoredHubs, StoreMaintenance } from '../../core/ports/store-maintenance.js';

/** Tolerance for the clock of a hub, as for that of the database server. */
const MAX_OFFSET_MS = 2000;

/** Time in which another hub takes over as the scheduler, with a margin. */
const TAKEOVER_MS = 8000;
const LOOK_EVERY_MS = 1000;

const SYNCHRONIZE = 'synchronize their machines (chronyd, systemd-timesyncd): their logs cannot be compared';

export type ClusterStore = Pick<StoreMaintenance, 'hubs'>;

/** The hubs with their state, and what is wrong with them. A cluster without scheduler gets the time of a takeover first. */
export async function checkCluster(store: ClusterStore, timers: Pick<Timers, 'after'>): Promise<Finding[]> {
  let stored = await store.hubs();
  for (let waitedMs = 0; lacksScheduler(stored) && waitedMs < TAKEOVER_MS; waitedMs += LOOK_EVERY_MS) {
    await pause(timers, LOOK_EVERY_MS);
    stored = await store.hubs();
  }
  return clusterFindings(stored);
}

/** Findings of one look. */
export function clusterFindings(stored: StoredHubs): Finding[] {
  const { hubs, nowMs } = stored;
  if (hubs.length === 0) return [ok('hubs', 'none runs on the database')];
  return [
    ...hubs.map((hub) => stateOf(hub, nowMs)),
    ...checkScheduler(stored),
    ...checkVersions(hubs),
    ...checkHubClocks(hubs),
  ];
}

function stateOf(hub: HubView, nowMs: number): Finding {
  const { id, isLive, isScheduler, term, agents, runningTasks } = hub;
  const seen = `last seen ${secondsIn(nowMs - hub.seenAtMs)} ago`;
  const known = `${id}, version ${hub.version}${hub.address === '' ? '' : `, at ${hub.address}`}`;
  if (!isLive) {
    return warning(
      'hubs',
      `${known} is gone and has not stopped in order, ${seen}`,
      'look whether its machine runs and reaches the database, read its log, and start it again; a day later it is forgotten',
    );
  }
  const role = isScheduler ? `the scheduler in term ${term}, ` : '';
  const prepared = hub.preparedAtMs === null ? '' : ', prepared for a shutdown';
  return ok(
    'hubs',
    `${known}: ${role}${counted(agents, 'agent')} with ${counted(runningTasks, 'task')}, ${seen}${prepared}`,
  );
}

function lacksScheduler({ hubs }: StoredHubs): boolean {
  return hubs.some(({ isLive }) => isLive) && !hubs.some(({ isScheduler }) => isScheduler);
}

function checkScheduler(stored: StoredHubs): Finding[] {
  if (!lacksScheduler(stored)) return [];
  return [
    fault(
      'scheduler',
      'no hub is the scheduler, so no waiting task begins',
      'read the logs of the hubs for "scheduler"; restart one of them',
    ),
  ];
}

function checkVersions(hubs: readonly HubView[]): Finding[] {
  const idsOf = new Map<string, string[]>();
  for (const { id, version } of hubs.filter(({ isLive }) => isLive))
    idsOf.set(version, [...(idsOf.get(version) ?? []), id]);
  if (idsOf.size <= 1) return [];
  const versions = [...idsOf].map(([version, ids]) => `${version} (${ids.join(', ')})`).sort();
  return [
    warning(
      'versions of hubs',
      `they differ: ${versions.join(' and ')}`,
      'go on with the upgrade of the others',
    ),
  ];
}

function checkHubClocks(hubs: readonly HubView[]): Finding[] {
  const check = 'clocks of hubs';
  const known = hubs.flatMap(({ id, isLive, clockOffsetMs }) =>
    isLive && clockOffsetMs !== null ? [{ id, offsetMs: clockOffsetMs }] : [],
  );
  const wrong = known.filter(({ offsetMs }) => Math.abs(offsetMs) > MAX_OFFSET_MS);
  if (wrong.length === 0)
    return known.length === 0 ? [] : [ok(check, 'they agree with that of the database')];
  return wrong.map(({ id, offsetMs }) => {
    const side = offsetMs > 0 ? 'ahead of' : 'behind';
    return warning(
      check,
      `that of ${id} is ${secondsIn(Math.abs(offsetMs))} ${side} that of the database`,
      SYNCHRONIZE,
    );
  });
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function secondsIn(durationMs: number): string {
  return `${Math.max(0, Math.round(durationMs / 1000))} s`;
}
