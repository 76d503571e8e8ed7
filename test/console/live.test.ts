/** The console over several tabs, and at a hub that goes away and comes back. */
import type { Request, Route } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  consoleForAllTests,
  expectAccessible,
  handIn,
  hub,
  rowOf,
  visit,
} from '../support/browsers/console.js';

describe.runIf(hasBrowser)('what is live', () => {
  consoleForAllTests();

  it('comes to all tabs by one stream, also when its tab is closed', async () => {
    const streams: Request[] = [];
    const first = await visit();
    await first.getByTitle('Live', { exact: true }).waitFor();
    const context = first.context();
    context.on('request', (request) => {
      if (new URL(request.url()).pathname === '/api/x/events') streams.push(request);
    });
    await first.reload();
    const others = await Promise.all([visit({ context }), visit({ context }), visit({ context })]);
    const tabs = [first, ...others];
    for (const tab of tabs) await tab.getByTitle('Live', { exact: true }).waitFor();
    await handIn({ name: 'for all tabs', scripts: ['1'], labels: 'nowhere' });
    for (const tab of tabs) await rowOf(tab, 'for all tabs').waitFor();
    expect(streams).toHaveLength(1);

    await first.close();
    await handIn({ name: 'after the first', scripts: ['1'], labels: 'nowhere' });
    for (const tab of others) await rowOf(tab, 'after the first').waitFor();
    // A tab that takes over reads the list before it opens the stream.
    await expect.poll(() => streams.length).toBe(2);
  });

  it('shows the end of a task that came while its details were on their way', async () => {
    const id = await handIn({ name: 'ends meanwhile', scripts: ['1'], labels: 'nowhere' });
    const page = await visit();
    await page.getByTitle('Live', { exact: true }).waitFor();
    const otherTab = await visit({ context: page.context() });
    const endMeanwhile = async (route: Route) => {
      const response = await route.fetch();
      const cancel = `${hub.address}/api/2.0/workbench/task/${id}/cancel?force=false`;
      expect((await fetch(cancel, { method: 'DELETE' })).status).toBe(204);
      // The first tab reads the stream, and passes the event on.
      await rowOf(otherTab, 'ends meanwhile').getByText('Canceled', { exact: true }).waitFor();
      await route.fulfill({ response });
    };
    await page.route(({ pathname }) => pathname === `/api/x/tasks/${id}`, endMeanwhile, { times: 1 });
    await page.getByRole('link', { name: 'ends meanwhile' }).click();
    await page.locator('.view-head').getByText('Canceled').waitFor();
  });

  it('says that the hub is away, keeps what is shown, and goes on by itself', async () => {
    await handIn({ name: 'seen before', scripts: ['1'], labels: 'nowhere' });
    const page = await visit();
    await rowOf(page, 'seen before').waitFor();
    await page.context().setOffline(true);
    onTestFinished(() =>
      page
        .context()
        .setOffline(false)
        .catch(() => undefined),
    );
    await page.getByRole('searchbox', { name: 'Name' }).fill('seen');
    await page.getByText('The hub cannot be reached.').waitFor();
    await expectAccessible(page);
    await handIn({ name: 'seen after', scripts: ['1'], labels: 'nowhere' });
    await page.context().setOffline(false);
    await rowOf(page, 'seen after').waitFor();
    await page.getByText('The hub cannot be reached.').waitFor({ state: 'detached' });
    await page.getByTitle('Live', { exact: true }).waitFor();
  });

  it('says that a screen is gone since an upgrade, and shows it when the page is loaded again', async () => {
    const page = await visit({ path: '/tasks' });
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    const isPart = (url: URL) => url.pathname.startsWith('/assets/') && url.pathname.endsWith('.js');
    await page.route(isPart, (route) => route.fulfill({ status: 404, body: '' }));
    await page.getByRole('link', { name: 'Storage' }).click();
    await page.getByRole('heading', { name: 'This screen cannot be shown' }).waitFor();
    await page.getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.getByRole('link', { name: 'Storage' }).click();
    await page.unroute(isPart);
    await page.getByRole('button', { name: 'Load the page again' }).click();
    await page.getByRole('heading', { name: 'Storage' }).waitFor();
  });

  it.each([
    ['/', 'Overview'],
    ['/tasks', 'Tasks'],
    ['/new', 'New job'],
    ['/tasks/019aa4f2-6d3c-7c41-9f0e-000000000001', 'This task does not exist'],
  ])(
    'loads at most 150 KiB of JavaScript at first, compressed, and nothing again: %s',
    async (path, title) => {
      const page = await visit({ path });
      const isShown = async () => {
        await page.getByRole('heading', { name: title, exact: true }).waitFor();
        // The charts are loaded after the numbers.
        if (path === '/') await page.locator('.chart canvas').nth(1).waitFor();
      };
      await isShown();
      const sizes = () =>
        page.evaluate(`performance.getEntriesByType('resource')
        .filter(({ name }) => name.endsWith('.js'))
        .map(({ encodedBodySize, transferSize }) => ({ encodedBodySize, transferSize }))`) as Promise<
          { encodedBodySize: number; transferSize: number }[]
        >;
      const first = await sizes();
      expect(first.length).toBeGreaterThan(2);
      expect(first.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)).toBeLessThan(150 * 1024);
      await page.reload();
      await isShown();
      expect((await sizes()).map(({ transferSize }) => transferSize)).toEqual(first.map(() => 0));
    },
  );
});
