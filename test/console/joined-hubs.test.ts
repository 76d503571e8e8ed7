/** The console of a hub that lends instances to another hub and uses those of a third. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, hub, visitAs } from '../support/browsers/console.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { configOfSite, startSite } from '../support/hubs/sites.js';

describe.runIf(hasBrowser)('a hub between two others', () => {
  let above: RunningHub;
  consoleForAllTests(async () => {
    above = await startHub();
    return { users: USERS, config: configOfSite(above, 'europe') };
  });

  it('shows the site below it with what that keeps, and since when it is away', async () => {
    const { hub: site, api } = await startSite(hub, 'berlin');
    await FakeAgent.join(site, { id: 'host-1', instances: [{ id: 'press' }, { id: 'mill' }] });
    const page = await visitAs('anna', '/instances');
    const group = page.getByRole('region', { name: 'berlin' });
    await group.getByRole('row', { name: 'Free' }).nth(1).waitFor();
    await group.getByRole('link', { name: 'hub 0.1.0 at berlin.example.com' }).waitFor();
    await api.simulateWork();
    await group.getByText('a task of its own hub').waitFor();
    await api.post('/api/2.0/admin/prepare-shutdown/change', { initiated: true });
    await group.getByText('Kept').waitFor();
    await expectAccessible(page);
    await site.stop();
    await group.getByText('last seen').waitFor();
    await group.getByText('Unreachable').first().waitFor();
  });

  it('shows the hub above it with the instances that it may use, and why it is not joined', async () => {
    onTestFinished(() => above.stop());
    const page = await visitAs('anna', '/administration/hubs');
    const upstreams = page.getByRole('region', { name: 'Hubs that this one lends instances to' });
    await upstreams.getByText('joined as europe').waitFor();
    await upstreams.getByText('offered: 2, open loans: 0').waitFor();
    await expectAccessible(page);
    await above.stop();
    await upstreams.getByText('not joined').waitFor();
    await upstreams.getByText('ECONNREFUSED').waitFor();
    expect(await upstreams.getByRole('row').count()).toBe(2);
  });
});
