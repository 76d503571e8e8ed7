/** The page /docs in a real browser: every endpoint, and no request that leaves the hub. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, startBrowser } from '../support/browsers/browser.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { operationsIn } from '../support/interface/openapi-operations.js';

/** Operations that the page shows where it is scrolled to: of many, it has only those near there. */
const operationsOn = (page: Page) =>
  page.$$eval('.opblock-summary', (blocks) =>
    blocks.map((block) => {
      const method = block.querySelector('.opblock-summary-method')?.textContent;
      const path = block.querySelector('.opblock-summary-path')?.getAttribute('data-path');
      return `${method} ${path}`;
    }),
  );

/** Scrolls from the top to the end of the page, until `look` has seen what it wants. */
async function scrolledThrough(page: Page, look: () => Promise<boolean>): Promise<void> {
  await page.evaluate('scrollTo(0, 0)');
  for (;;) {
    // Two frames, after which what comes into sight is there.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    if (await look()) return;
    const isAtEnd = await page.evaluate('scrollY + innerHeight >= document.documentElement.scrollHeight - 1');
    if (isAtEnd) return;
    await page.evaluate('scrollBy(0, innerHeight / 2)');
  }
}

describe.runIf(hasBrowser)('/docs in a browser', () => {
  let hub: RunningHub;
  let browser: Browser;
  beforeAll(async () => {
    [hub, browser] = await Promise.all([startHub(), startBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await hub.stop();
  });

  it('shows every endpoint, requests nothing from other hosts, and logs no errors', async () => {
    const page = await browser.newPage();
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));

    await page.goto(`${hub.address}/docs`);
    await page.waitForSelector('.opblock-summary');
    const operations = operationsIn(await new Api(hub).document());
    const shown = new Set<string>();
    await scrolledThrough(page, async () => {
      for (const operation of await operationsOn(page)) shown.add(operation);
      return shown.size >= operations.length;
    });
    expect([...shown].sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort());

    // A person opens one and sees its parameters, and a response with an example.
    const list = '.opblock-summary-path[data-path="/api/2.0/workbench/task/list"]';
    await scrolledThrough(page, async () => (await page.$(list)) !== null);
    await page.click(list);
    await page.waitForSelector('.opblock.is-open .parameters td.parameters-col_name');
    expect(await page.textContent('.opblock.is-open')).toMatch(/page[\s\S]*size[\s\S]*status[\s\S]*200/);

    const foreign = asked.filter((url) => !url.startsWith(`${hub.address}/`) && !url.startsWith('data:'));
    expect(foreign).toEqual([]);
    expect(asked).toContain(`${hub.address}/openapi.json`);
    expect(complaints).toEqual([]);
  });
});
