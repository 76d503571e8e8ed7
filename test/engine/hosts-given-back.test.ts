/** Hosts that are given back before the hub knows of their jobs. */
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, restart } from '../support/engine/engine-for-each-test.js';
import { MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';

engineForEachTest();

const statesNow = async () => (await engine.store.allocations.open()).map(({ state }) => state);

describe('a host that is given back by a hub that was killed after its submit', () => {
  it('is asked again to go while the workload manager still shows its job', async () => {
    await startWith();
    manager.losesAnswers = true;
    await create();
    await engine.runtime.advance(2000);
    expect(manager.live).toHaveLength(1);
    manager.isAway = true;
    await restart();
    await engine.recipeViews.drain('gears', 'anna');
    await engine.recipeViews.pause('gears', 'anna');
    await pass();
    expect(await statesNow()).toEqual(['DRAINING']);
    manager.isAway = false;
    manager.ignoresCancels = true;
    await pass(MINUTE_MS);
    expect(manager.canceled.length).toBeGreaterThan(1);
    expect(await statesNow()).toEqual(['DRAINING']);
    manager.ignoresCancels = false;
    await pass(MINUTE_MS);
    expect([manager.live, await statesNow()]).toEqual([[], []]);
  });
});
