/** Large files on their way from a browser to the input storage. */
import { randomBytes } from 'node:crypto';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser, OTHER_HOST } from '../support/browsers/browser.js';
import {
  allowPagesOf,
  consoleForAllTests,
  expectAccessible,
  hub,
  logInAs,
  rowOf,
  visit,
} from '../support/browsers/console.js';
import { USERS } from '../support/hubs/running-hub.js';
import { startSlowProxy } from '../support/proxies/slow-proxy.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** Rate of the network from the browser, in bytes a second. */
const SLOW = 8 * MIB;
const SIZE = 40 * MIB;

async function choose(page: Page, path: string): Promise<void> {
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Upload files' }).click();
  await (await choosing).setFiles(path);
}

/** Offsets of the parts that the page sends. */
function partsOf(page: Page): number[] {
  const offsets: number[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') offsets.push(Number(request.headers()['upload-offset']));
  });
  return offsets;
}

describe.runIf(hasBrowser)('an upload from the browser', () => {
  consoleForAllTests({
    users: USERS,
    config: {
      security: { accessTokenLifetime: '10m' },
      storage: { input: { enabled: true, quotaPerUser: '30GiB' } },
    },
  });

  it('pauses while the connection is away, and goes on by itself and after a reload', async () => {
    const path = join(hub.config.dataDir, 'large.bin');
    await writeFile(path, randomBytes(SIZE));
    const network = await startSlowProxy(hub.address, SLOW);
    allowPagesOf(network.address);
    const page = await visit({ path: '/storage' });
    await page.goto(`${network.address}/storage`);
    await logInAs(page, 'ulla');
    const parts = partsOf(page);
    const uploads = page.getByRole('region', { name: 'Uploads' });
    await choose(page, path);
    await uploads.getByText(/of 40(?:\.0)? MiB/).waitFor();
    await expect.poll(() => parts.length).toBeGreaterThan(1);

    network.goDown();
    await uploads.getByText('The connection is away').waitFor();
    await expectAccessible(page);
    network.comeBack();
    await uploads.getByText('is being sent').waitFor();
    await expect.poll(() => parts.at(-1)).toBeGreaterThan(SIZE / 4);
    const before = Math.max(...parts);

    await page.reload();
    parts.length = 0;
    const unfinished = page.getByRole('region', { name: 'Unfinished uploads' });
    await unfinished.getByText('large.bin').waitFor();
    await unfinished.getByText(/of 40(?:\.0)? MiB/).waitFor();
    await expectAccessible(page);
    await choose(page, path);
    await unfinished.waitFor({ state: 'detached' });
    await rowOf(page, 'large.bin')
      .getByText(/^40(?:\.0)? MiB/)
      .waitFor();
    // Nothing that the hub had is sent again.
    expect(parts[0]).toBeGreaterThanOrEqual(before);
    await uploads.getByText('stored').waitFor();
    await network.stop();
  });

  it('frees its place in the quota when it is canceled', async () => {
    const path = join(hub.config.dataDir, 'canceled.bin');
    await writeFile(path, randomBytes(SIZE));
    const network = await startSlowProxy(hub.address, SLOW);
    allowPagesOf(network.address);
    const page = await visit({ path: '/storage' });
    await page.goto(`${network.address}/storage`);
    await logInAs(page, 'udo');
    // The page knows of the upload at the hub from its first part on.
    const sending = page.waitForRequest((request) => request.method() === 'PATCH');
    await choose(page, path);
    await sending;
    await page.getByText(/of 40(?:\.0)? MiB/).waitFor();
    const [deleting] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'DELETE'),
      page.getByRole('button', { name: 'Cancel: canceled.bin' }).click(),
    ]);
    await page.getByText('canceled: nothing was stored').waitFor();
    expect((await deleting.response())?.status()).toBe(204);
    await network.stop();
  });

  it('ends when its user logs out, and does not go on as the next one', async () => {
    const path = join(hub.config.dataDir, 'of-ulla.bin');
    await writeFile(path, randomBytes(SIZE));
    const small = join(hub.config.dataDir, 'of-udo.bin');
    await writeFile(small, 'small');
    const network = await startSlowProxy(hub.address, SLOW);
    allowPagesOf(network.address);
    const page = await visit({ path: '/storage' });
    await page.goto(`${network.address}/storage`);
    await logInAs(page, 'ulla');
    const parts = partsOf(page);
    await choose(page, path);
    await expect.poll(() => parts.length).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    parts.length = 0;
    await logInAs(page, 'udo');
    await choose(page, small);
    const uploads = page.getByRole('region', { name: 'Uploads' });
    await uploads.getByText('stored').waitFor();
    await uploads.getByText('of-udo.bin').waitFor();
    expect(await uploads.getByText('of-ulla.bin').count()).toBe(0);
    expect(parts).toEqual([0]);
    await network.stop();
  });

  it('says before it begins that a file is too large', async () => {
    const path = join(hub.config.dataDir, 'huge.bin');
    const handle = await open(path, 'w');
    await handle.truncate(20 * GIB);
    await handle.close();
    const page = await visit({ path: '/storage' });
    await logInAs(page, 'ulla');
    const parts = partsOf(page);
    await choose(page, path);
    await page.getByText('Too large, so nothing was sent').waitFor();
    await expectAccessible(page);
    expect(parts).toEqual([]);
  });

  it('hands in a job with a large file on a page without TLS on another host', async () => {
    const address = hub.address.replace('127.0.0.1', OTHER_HOST);
    allowPagesOf(address);
    const page = await visit({ path: '/new' });
    await page.goto(`${address}/new`);
    expect(await page.evaluate('window.isSecureContext')).toBe(false);
    await logInAs(page, 'ulla');
    const script = join(hub.config.dataDir, 'run.js');
    await writeFile(script, 'console.log("ran");');
    const mesh = join(hub.config.dataDir, 'mesh.bin');
    await writeFile(mesh, randomBytes(9 * MIB));
    await page.locator('input[type=file]').first().setInputFiles([script, mesh]);
    await page.getByText('mesh.bin').first().waitFor();
    await page.getByRole('button', { name: /^Hand in/ }).click();
    await page.getByText('ran').first().waitFor();
  });
});
