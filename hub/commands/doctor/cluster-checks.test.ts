import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { describe, expect, it } from 'vitest';
import type { HubView } from '../../core/ports/hubs.js';
import { checkCluster, clusterFindings } from './cluster-checks.js';

const NOW_MS = 1_000_000;

const view = (id: string, rest: Partial<HubView> = {}): HubView => ({
  id,
  version: '1.4.0',
  address: `http://${id}:8080`,
  startedAtMs: 0,
  seenAtMs: NOW_MS - 1000,
  isLive: true,
  isScheduler: false,
  term: null,
  agents: 2,
  runningTasks: 1,
  clockOffsetMs: 3,
  preparedAtMs: null,
  ...rest,
});

const scheduler = view('a', { isScheduler: true, term: 7 });

const told = (...hubs: HubView[]) =>
  clusterFindings({ hubs, nowMs: NOW_MS }).map(
    ({ state, check, message }) => `${state} ${check}: ${message}`,
  );

describe('the view of a cluster', () => {
  it('lists the hubs of one that is sound', () => {
    expect(told(scheduler, view('b', { address: '', preparedAtMs: 5 }))).toEqual([
      'OK hubs: a, version 1.4.0, at http://a:8080: the scheduler in term 7, 2 agents with 1 task, last seen 1 s ago',
      'OK hubs: b, version 1.4.0: 2 agents with 1 task, last seen 1 s ago, prepared for a shutdown',
      'OK clocks of hubs: they agree with that of the database',
    ]);
  });

  it('says that no hub runs', () => {
    expect(told()).toEqual(['OK hubs: none runs on the database']);
  });

  it('finds hubs that are gone, of other versions, or with other clocks', () => {
    const findings = told(
      scheduler,
      view('b', { version: '1.5.0', clockOffsetMs: -12_400 }),
      view('c', { isLive: false, seenAtMs: NOW_MS - 90_000, version: '1.3.0', clockOffsetMs: 60_000 }),
      view('d', { clockOffsetMs: 2600 }),
    );
    expect(findings.filter((finding) => !finding.startsWith('OK'))).toEqual([
      'WARNING hubs: c, version 1.3.0, at http://c:8080 is gone and has not stopped in order, last seen 90 s ago',
      'WARNING versions of hubs: they differ: 1.4.0 (a, d) and 1.5.0 (b)',
      'WARNING clocks of hubs: that of b is 12 s behind that of the database',
      'WARNING clocks of hubs: that of d is 3 s ahead of that of the database',
    ]);
  });

  it('finds a cluster without scheduler, unless all its hubs are gone', () => {
    expect(told(view('a'))).toContain('FAULT scheduler: no hub is the scheduler, so no waiting task begins');
    expect(told(view('a', { isLive: false })).join()).not.toContain('FAULT');
  });

  it('waits for a takeover before it misses the scheduler', async () => {
    let [looks, waits] = [0, 0];
    const timers = {
      after: (_: number, call: () => void) => {
        waits++;
        call();
        return { cancel: () => undefined };
      },
    } as unknown as Timers;
    const takenOver = {
      hubs: async () => ({ hubs: [++looks > 3 ? scheduler : view('a')], nowMs: NOW_MS }),
    };
    const findings = await checkCluster(takenOver, timers);
    expect(findings.every(({ state }) => state === 'OK')).toBe(true);
    expect([looks, waits]).toEqual([4, 3]);

    const never = { hubs: async () => ({ hubs: [view('a')], nowMs: NOW_MS }) };
    waits = 0;
    expect((await checkCluster(never, timers)).some(({ state }) => state === 'FAULT')).toBe(true);
    expect(waits).toBe(8);
  });
});
