/** The cluster's view of `workbench-hub doctor`, from the rows of real hubs. */
import { checkCluster } from '@workbench-hub/hub/commands/doctor/cluster-checks';
import { openInspection } from '@workbench-hub/hub/store/postgres/upkeep/inspection';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { emptyDatabase, hasPostgres } from '../support/stores/postgres.js';
import { TestHubs } from '../support/stores/postgres-cluster.js';

describe.runIf(hasPostgres)('the view of a cluster on PostgreSQL', () => {
  let hubs: TestHubs;
  beforeEach(async () => {
    hubs = await TestHubs.open();
  });
  afterEach(() => hubs.end());

  /** A second of the doctor takes 50 ms. */
  const hastyTimers: Pick<Timers, 'after'> = {
    after: (delayMs, call) => systemRuntime.timers.after(delayMs / 20, call),
  };

  const found = async () => {
    const store = openInspection({ url: hubs.database.url, password: null });
    const findings = await checkCluster(store, hastyTimers);
    return findings.map(({ state, check, message }) => `${state} ${check}: ${message}`);
  };

  it('has every hub, its role and its clock', async () => {
    const a = await hubs.start('a');
    await hubs.start('b');
    await a.hubs.listensAt('http://a.example.org:8080');
    await a.roles.contend({ gained: async () => undefined, lost: async () => undefined });
    await eventually(async () => (await a.hubs.all()).every(({ clockOffsetMs }) => clockOffsetMs !== null));
    expect(await found()).toEqual([
      expect.stringMatching(
        /^OK hubs: a, version 1, at http:\/\/a\.example\.org:8080: the scheduler in term \d+, 0 agents with 0 tasks, last seen \d+ s ago$/,
      ),
      expect.stringMatching(/^OK hubs: b, version 1: 0 agents with 0 tasks, last seen \d+ s ago$/),
      'OK clocks of hubs: they agree with that of the database',
    ]);
  });

  it('finds another version, a wrong clock, and a hub that is gone', async () => {
    const { clock } = systemRuntime;
    const slow = { nowMs: () => clock.nowMs() - 60_000, monotonicMs: () => clock.monotonicMs() };
    const a = await hubs.start('a', { clock: slow });
    await hubs.start('b', { version: '2' });
    const c = await hubs.start('c');
    await a.roles.contend({ gained: async () => undefined, lost: async () => undefined });
    await eventually(async () => (await a.hubs.all()).every(({ clockOffsetMs }) => clockOffsetMs !== null));
    await c.crash();
    await hubs.database.query("UPDATE hub SET seen_at = seen_at - interval '1 minute' WHERE id = 'c'");
    const findings = (await found()).filter((finding) => !finding.startsWith('OK'));
    expect(findings).toEqual([
      expect.stringMatching(
        /^WARNING hubs: c, version 1 is gone and has not stopped in order, last seen 6\d s ago$/,
      ),
      'WARNING versions of hubs: they differ: 1 (a) and 2 (b)',
      expect.stringMatching(/^WARNING clocks of hubs: that of a is (59|60) s behind that of the database$/),
    ]);
  });

  it('finds that there is no scheduler', async () => {
    await hubs.start('a');
    expect(await found()).toContain('FAULT scheduler: no hub is the scheduler, so no waiting task begins');
  });

  it('has no hub where none runs, or none ever did', async () => {
    expect(await found()).toEqual(['OK hubs: none runs on the database']);
    const empty = await emptyDatabase();
    try {
      const store = openInspection({ url: empty.url, password: null });
      expect(await checkCluster(store, systemRuntime.timers)).toHaveLength(1);
    } finally {
      await empty.drop();
    }
  });
});
