/** The screen of the storage in a browser. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import {
  consoleForAllTests,
  expectAccessible,
  handIn,
  hub,
  rowOf,
  visit,
} from '../support/browsers/console.js';

/** Drops a file of this name and content on the place for uploads. */
async function drop(page: Page, name: string, content: string): Promise<void> {
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([${JSON.stringify(content)}], ${JSON.stringify(name)}));
    return transfer;
  })()`);
  const place = page.locator('.drop-place');
  await place.dispatchEvent('dragover', { dataTransfer: transfer });
  await place.dispatchEvent('drop', { dataTransfer: transfer });
}

describe.runIf(hasBrowser)('the screen of the storage', () => {
  consoleForAllTests({
    config: { storage: { input: { enabled: true, maxFileSize: '1MiB' }, output: { enabled: true } } },
  });

  it('says that there are no files, and shows one that was dropped', async () => {
    const page = await visit({ path: '/storage' });
    await page.getByText('No files').waitFor();
    await expectAccessible(page);
    await drop(page, 'mesh.stl', 'solid');
    await rowOf(page, 'mesh.stl').getByText('5 B').waitFor();
    await page.getByRole('region', { name: 'Uploads' }).getByText('stored').waitFor();
    await expectAccessible(page);
  });

  it('shows what others upload and delete, without a reload', async () => {
    const page = await visit({ path: '/storage' });
    const form = new FormData();
    form.append('file', new Blob(['from a script']), 'by-script.txt');
    await fetch(`${hub.address}/api/2.0/storage/input/upload`, { method: 'POST', body: form });
    await rowOf(page, 'by-script.txt').waitFor();
    await fetch(`${hub.address}/api/2.0/storage/input/by-script.txt/delete`, { method: 'DELETE' });
    await rowOf(page, 'by-script.txt').waitFor({ state: 'detached' });
  });

  it('lets no file that is dropped elsewhere take the place of the page', async () => {
    for (const path of ['/storage', '/tasks', '/']) {
      const page = await visit({ path });
      await page.getByRole('navigation').waitFor();
      const refused = await page.evaluate(`(() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(['x'], 'huge.bin'));
        const event = new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector('nav').dispatchEvent(event);
        return event.defaultPrevented;
      })()`);
      expect(refused).toBe(true);
    }
  });

  it('asks before it replaces a file, and takes another name', async () => {
    const page = await visit({ path: '/storage' });
    await drop(page, 'same.csv', 'one');
    await rowOf(page, 'same.csv').getByText('3 B').waitFor();
    await drop(page, 'same.csv', 'three');
    await page.getByText('There is a file of this name').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Upload as').fill('other.csv');
    await page.keyboard.press('Enter');
    await rowOf(page, 'other.csv').getByText('5 B').waitFor();
    await drop(page, 'same.csv', 'seven..');
    await page.getByRole('button', { name: 'Replace it: same.csv' }).click();
    await rowOf(page, 'same.csv').getByText('7 B').waitFor();
  });

  it('says why a name or a size is refused', async () => {
    const page = await visit({ path: '/storage' });
    await drop(page, 'größe 1.csv', 'x');
    await page.getByText('A name has 3 to 64 letters').waitFor();
    expect(await page.getByLabel('Upload as').inputValue()).toBe('gro-e-1.csv');
    await drop(page, 'large.bin', 'x'.repeat(1_100_000));
    await page.getByText(/maxFileSize|too large|at most/).waitFor();
    await page.getByRole('button', { name: 'Try again: large.bin' }).waitFor();
  });

  it('uploads by the button, renews and deletes, by keyboard', async () => {
    const file = join(hub.config.dataDir, 'by-button.txt');
    await writeFile(file, 'by button');
    const page = await visit({ path: '/storage' });
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Upload files' }).focus();
    await page.keyboard.press('Enter');
    await (await choosing).setFiles(file);
    await rowOf(page, 'by-button.txt').waitFor();
    await page.getByRole('button', { name: 'Renew: by-button.txt' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('its time begins again').waitFor();
    await page.getByRole('button', { name: 'Delete: by-button.txt' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog', { name: 'Delete by-button.txt?' }).locator(':focus').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await rowOf(page, 'by-button.txt').waitFor({ state: 'detached' });
  });

  it('shows which tasks use a file, and downloads it', async () => {
    const page = await visit({ path: '/storage' });
    await drop(page, 'used.txt', 'a,b');
    await rowOf(page, 'used.txt').waitFor();
    const use = page.getByRole('button', { name: 'Tasks that use it: used.txt' });
    await use.focus();
    await page.keyboard.press('Enter');
    await page.getByText('No task uses this content').waitFor();
    await page.keyboard.press('Enter');
    await fetch(`${hub.address}/api/x/tasks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        type: 'EXECUTE_BATCH_JOB',
        name: 'uses it',
        inputScripts: [{ content: 'MQ==' }],
        additionalFiles: [{ filename: 'used.txt', storageName: 'used.txt' }],
      }),
    });
    await page.reload();
    await use.click();
    await page.getByRole('link', { name: 'uses it' }).waitFor();
    await expectAccessible(page);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download: used.txt' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('used.txt');
    expect(await readFile(await saved.path(), 'utf8')).toBe('a,b');
    await page.getByRole('link', { name: 'uses it' }).click();
    await page.getByRole('heading', { name: 'uses it' }).waitFor();
  });

  it('keeps its filters in the address', async () => {
    const page = await visit({ path: '/storage' });
    await drop(page, 'wanted-1.txt', '1');
    await drop(page, 'others-1.txt', '1');
    await rowOf(page, 'others-1.txt').waitFor();
    await page.getByRole('searchbox', { name: 'Beginning of the name' }).fill('wanted');
    await rowOf(page, 'others-1.txt').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?prefix=wanted');
    await page.reload();
    await rowOf(page, 'wanted-1.txt').waitFor();
    expect(await rowOf(page, 'others-1.txt').count()).toBe(0);
  });

  it('downloads output files, and leads to their task', async () => {
    const script = '#!/bin/sh\necho "<script>" > "$WORKBENCH_OUTPUT_STORAGE/index.html"';
    const id = await handIn({ name: 'leaves a file', scripts: [script] });
    const page = await visit({ path: '/storage?area=output', width: 360 });
    await expect
      .poll(
        async () => {
          await page.reload();
          await page.getByRole('heading', { name: 'Storage' }).waitFor();
          await page.locator('.data-table, .state').first().waitFor();
          return rowOf(page, 'index.html').count();
        },
        { timeout: 60_000 },
      )
      .toBe(1);
    await expectAccessible(page);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: /^Download: / }).click();
    expect(await readFile(await (await saving).path(), 'utf8')).toBe('<script>\n');
    await page.getByRole('link', { name: `Task ${id.slice(-8)}` }).click();
    await page.getByRole('heading', { name: 'leaves a file' }).waitFor();
  });
});

describe.runIf(hasBrowser)('the screen of a storage that is off', () => {
  consoleForAllTests({ config: { storage: { input: { enabled: false }, output: { enabled: false } } } });

  it('says so', async () => {
    const page = await visit({ path: '/storage' });
    await page.getByText('This storage is off').waitFor();
    await expectAccessible(page);
  });
});
