/** The overview in a browser. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visit } from '../support/console.js';
import { FakeAgent, instanceReportOf } from '../support/fake-agent.js';

describe.runIf(hasBrowser)('the overview', () => {
  consoleForAllTests();

  it('is calm while nothing happens', async () => {
    const page = await visit({ path: '/' });
    await page.getByText('Nothing has waited for long').waitFor();
    await page.getByText('0 of 2 instances busy').waitFor();
    await expectAccessible(page);
    // A card is as high as what is in it.
    const card = page.getByRole('region', { name: 'Tasks that ended' });
    await card.locator('canvas').waitFor();
    expect((await card.boundingBox())?.height).toBeLessThan(330);
  });

  it('counts the queue by priority, and what has ended, as it changes', async () => {
    const page = await visit({ path: '/' });
    const tile = (name: string) => page.locator('.tile').filter({ hasText: name });
    await tile('Waiting').getByText('nothing waits').waitFor();
    await handIn({ name: 'for nobody', scripts: ['1'], labels: 'nowhere' });
    await tile('Waiting').getByText('Normal: 1').waitFor();
    await handIn({ name: 'ends well', scripts: ['1'] });
    await handIn({ name: 'fails', scripts: ['throw new Error("no mesh")'] });
    await tile('Finished').locator('strong').getByText('1', { exact: true }).waitFor();
    await tile('Failed').locator('strong').getByText('1', { exact: true }).waitFor();
    await page.locator('.numbers-table summary').first().click();
    await page.getByRole('row').filter({ hasText: ':' }).first().waitFor();
    await page.getByRole('button', { name: '7 d' }).click();
    await tile('Finished').getByText('in the last 7 days').waitFor();
    await expectAccessible(page);
    await tile('Failed').getByRole('link').click();
    await page.getByRole('row').filter({ hasText: 'fails' }).waitFor();
    expect(new URL(page.url()).search).toBe('?status=FAILED');
  });

  it('groups tasks that have waited for long by the reason, and says that these are not all', async () => {
    const waiting = (await (await fetch(`${hub.address}/api/x/tasks?status=WAITING`)).json()) as {
      tasks: object[];
      counts: object;
    };
    const page = await visit({ path: '/tasks' });
    // As if each waited for long, and there were many more.
    await page.route(
      ({ pathname, searchParams }) => pathname === '/api/x/tasks' && searchParams.has('to'),
      (route) => route.fulfill({ json: { ...waiting, total: 20_000, cursor: '1' } }),
    );
    await page.goto(`${hub.address}/`);
    const card = page.getByRole('region', { name: 'Waiting for more than a minute' });
    await card.getByText('20,000 tasks. Here are the newest and the oldest 1.').waitFor();
    await card.getByRole('link', { name: 'for nobody' }).waitFor();
    await expectAccessible(page);
  });

  it('shows a host that is down before the others', async () => {
    const agent = await FakeAgent.join(hub, {
      id: 'sim-host-1',
      instances: [
        { id: 'ccx-1', status: 'UP' },
        { id: 'ccx-2', status: 'FAILED' },
      ],
    });
    const page = await visit({ path: '/' });
    const hosts = page.getByRole('region', { name: 'Hosts' }).locator('.hosts > li');
    await hosts.filter({ hasText: 'ccx-2: failed' }).getByText('1 instance is not up').waitFor();
    expect(await hosts.first().textContent()).toContain('sim-host-1');
    await agent.leave();
    await hosts.first().getByText('unreachable').waitFor();
    await expectAccessible(page);
  });

  it('tells of many hosts those first that ask for somebody to look', async () => {
    const ids = Array.from({ length: 40 }, (_, at) => `host-${at + 10}`);
    const instances = (id: string) => [
      instanceReportOf({ id: `${id}-1`, status: id === 'host-49' ? 'FAILED' : 'UP' }),
    ];
    const agents = await Promise.all(
      ids.map((id) => FakeAgent.join(hub, { id, nodeId: randomUUID(), instances: instances(id) })),
    );
    const page = await visit({ path: '/' });
    const hosts = page.getByRole('region', { name: 'Hosts' });
    await hosts
      .locator('.hosts > li')
      .filter({ hasText: 'failed' })
      .getByText('host-49', { exact: true })
      .waitFor();
    expect(await hosts.locator('.hosts > li').count()).toBe(30);
    await hosts.getByRole('button', { name: 'Show 12 more hosts' }).click();
    await hosts.getByText('host-40', { exact: true }).waitFor();
    await expectAccessible(page);
    await Promise.all(agents.map((agent) => agent.leave()));
  });
});
