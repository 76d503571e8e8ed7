/** The overview in a browser. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visit } from '../support/browsers/console.js';

/** Keeps the texts that are drawn on canvases. A text, since the tests are not compiled for a browser. */
const KEEP_DRAWN = `(() => {
  window.drawn = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.drawn.push(text);
    return fillText.call(this, text, ...place);
  };
})()`;

/** Changes the language, as another tab does it, and forgets what was drawn before. */
const PREFER_GERMAN = `(() => {
  window.drawn = [];
  const stored = JSON.parse(localStorage.getItem('workbench-preferences') ?? '{}');
  localStorage.setItem('workbench-preferences', JSON.stringify({ ...stored, language: 'de' }));
  window.dispatchEvent(new StorageEvent('storage'));
})()`;

/** Statistics of the last minutes: `times` are those of the last but one. */
function minutesWith(times: object): object {
  const none = { created: 0, started: 0, finished: 0, failed: 0, canceled: 0, lost: 0 };
  const thisMs = Math.floor(Date.now() / 60_000) * 60_000;
  const periods = [2, 1, 0].map((ago) => ({
    start: new Date(thisMs - ago * 60_000).toISOString(),
    ...none,
    ...(ago === 1 ? { started: 40, finished: 40, ...times } : {}),
  }));
  return { step: 'MINUTE', periods };
}

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
    expect(new URL(page.url()).search).toBe('?status=FAILED&study=all');
  });

  it('shows mean and 95th percentile of waiting and run times, as each language writes them', async () => {
    const page = await visit({ path: '/tasks', width: 390 });
    await page.addInitScript(KEEP_DRAWN);
    const times = { meanWait: 0.5, p95Wait: 2.5, meanRun: 4.2, p95Run: 185 };
    const lengths = new Set<string | null>();
    await page.route(
      ({ pathname }) => pathname === '/api/x/statistics',
      (route) => {
        lengths.add(new URL(route.request().url()).searchParams.get('stepsPerPeriod'));
        return route.fulfill({ json: minutesWith(times) });
      },
    );
    await page.goto(`${hub.address}/`);
    const card = (name: string) => page.getByRole('region', { name });
    const cellsOf = async (name: string) => {
      await card(name).locator('.numbers-table summary').click();
      return card(name).getByRole('row').allInnerTexts();
    };
    const drawn = () => page.evaluate('window.drawn') as Promise<string[]>;
    expect(await card('Waiting times').locator('.legend').innerText()).toMatch(/^Mean\s+95th percentile$/);
    expect(await cellsOf('Waiting times')).toEqual([
      expect.stringMatching(/^From\s+Mean\s+95th percentile$/),
      expect.stringMatching(/\s500 ms\s+2\.5 s$/),
    ]);
    expect((await cellsOf('Run times'))[1]).toMatch(/\s4\.2 s\s+3 min 05 s$/);
    await expect.poll(drawn).toContain('1.5 s');
    // The hub has added up what is shown together.
    expect([...lengths]).toEqual(['20']);
    await expectAccessible(page);
    await page.evaluate(PREFER_GERMAN);
    const waits = card('Wartezeiten');
    await waits.locator('.legend').getByText('95. Perzentil').waitFor();
    expect((await waits.getByRole('row').allInnerTexts())[1]).toMatch(/\s500 ms\s+2,5 s$/);
    await expect.poll(drawn).toContain('1,5 s');
    expect((await drawn()).filter((text) => /\d\.\d+ m?s/.test(text))).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
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
