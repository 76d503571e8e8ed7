/** The page /docs in a real browser: every endpoint, and no request that leaves the hub. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, startBrowser } from '../support/browsers/browser.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { operationsIn } from '../support/interface/openapi-operations.js';

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
    const shown = await page.$$eval('.opblock-summary', (blocks) =>
      blocks.map((block) => {
        const method = block.querySelector('.opblock-summary-method')?.textContent;
        const path = block.querySelector('.opblock-summary-path')?.getAttribute('data-path');
        return `${method} ${path}`;
      }),
    );
    const operations = operationsIn(await new Api(hub).document());
    expect(shown.sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort());

    // A person opens one and sees its parameters, and a response with an example.
    await page.click('.opblock-summary-path[data-path="/api/2.0/workbench/task/list"]');
    await page.waitForSelector('.opblock.is-open .parameters td.parameters-col_name');
    expect(await page.textContent('.opblock.is-open')).toMatch(/page[\s\S]*size[\s\S]*status[\s\S]*200/);

    const foreign = asked.filter((url) => !url.startsWith(`${hub.address}/`) && !url.startsWith('data:'));
    expect(foreign).toEqual([]);
    expect(asked).toContain(`${hub.address}/openapi.json`);
    expect(complaints).toEqual([]);
  });
});
