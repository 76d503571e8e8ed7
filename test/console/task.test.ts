/** The screen of one task in a browser. */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import type { SignedManifest } from '@workbench-hub/client';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visit } from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';

const ESC = '\\033';
/** Characters of a line that no page can show. */
const LONG_LINE = 10_000_000;

describe.runIf(hasBrowser)('the screen of a task', () => {
  consoleForAllTests();

  it('follows the log as it comes, in its colors and as text only, to the end', async () => {
    const script = [
      '#!/bin/sh',
      `printf '${ESC}[31mhot${ESC}[0m <img src=x onerror="document.title=1"> ${ESC}]0;title\\007end\\n'`,
      'while [ ! -e "$gate" ]; do sleep 0.1; done',
      `head -c ${LONG_LINE} /dev/zero | tr '\\0' x`,
      'echo; echo opened',
    ].join('\n');
    const gate = `${hub.config.dataDir}/gate-of-the-log`;
    const id = await handIn({ name: 'talks', scripts: [script], variables: { gate } });
    const page = await visit({ path: `/tasks/${id}` });
    const log = page.locator('.log-lines');
    await log.getByText('hot').waitFor();
    expect(await log.locator('.sgr-1').textContent()).toBe('hot');
    expect(await log.textContent()).toContain('<img src=x onerror="document.title=1"> end');
    expect(await page.locator('.log-lines img').count()).toBe(0);
    await page.locator('.view-head').getByText('Running').waitFor();
    await expectAccessible(page);
    await writeFile(gate, '');
    await log.getByText('opened').waitFor();
    await page.locator('.view-head').getByText('Finished').waitFor();
    await log.getByText('9.5 MiB more in this line').waitFor();
    expect((await log.textContent())?.length).toBeLessThan(10_000);
  });

  it('finds a line of a long log, and shows few of them', async () => {
    const script =
      'for (let i = 1; i <= 30000; i++) println("step " + i + (i === 20000 ? " DIVERGED" : ""));';
    const id = await handIn({ name: 'long', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}` });
    await page.getByText('30,000 lines').waitFor();
    await page.getByRole('searchbox', { name: 'Search the log' }).fill('diverged');
    await page.locator('.log-line.hit').getByText('step 20000').waitFor();
    expect(await page.locator('.log-line').count()).toBeLessThan(200);
  });

  it('finds a line of a log that grows all the time', async () => {
    const script = '#!/bin/sh\necho DIVERGED\nwhile [ ! -e "$gate" ]; do echo step; sleep 0.02; done';
    const gate = `${hub.config.dataDir}/gate-of-the-search`;
    const id = await handIn({ name: 'prints', scripts: [script], variables: { gate } });
    const page = await visit({ path: `/tasks/${id}` });
    await page.locator('.log-lines').getByText('step').first().waitFor();
    await page.getByRole('searchbox', { name: 'Search the log' }).fill('diverged');
    await page.locator('.log-line.hit').getByText('DIVERGED').waitFor();
    await page.locator('.view-head').getByText('Running').waitFor();
    await writeFile(gate, '');
    await page.locator('.view-head').getByText('Finished').waitFor();
  });

  it('says what the agent did not keep of a log, above it and in its search', async () => {
    const script =
      'println("beginning"); println("[agent] 82000000 bytes are left out here: limits.taskLog"); println("end");';
    const id = await handIn({ name: 'cut', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}` });
    await page.getByText('This log is cut: 78.2 MiB at line 2 were not kept').waitFor();
    await page.getByRole('searchbox', { name: 'Search the log' }).fill('middle');
    await page.getByText('not found in what was kept').waitFor();
    await expectAccessible(page);
  });

  it('has an address for each line of its log', async () => {
    const script = 'for (let i = 1; i <= 30000; i++) println("step " + i);';
    const id = await handIn({ name: 'lines', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}?line=20000` });
    await page.locator('.log-line.hit').getByText('step 20000', { exact: true }).waitFor();
    await page.getByRole('link', { name: '20003', exact: true }).click();
    await page.locator('.log-line.hit').getByText('step 20003', { exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?line=20003');
    await expectAccessible(page);
  });

  it('has the whole log at the end when the live log had gaps', async () => {
    const script = '#!/bin/sh\nseq 1 200000\nwhile [ ! -e "$gate" ]; do sleep 0.1; done';
    const gate = `${hub.config.dataDir}/gate-of-the-long-log`;
    const id = await handIn({ name: 'fast', scripts: [script], variables: { gate } });
    const logAddress = `${hub.address}/api/2.0/workbench/task/${id}/log`;
    await eventually(async () => (await (await fetch(logAddress)).text()).endsWith('200000\n'));
    const page = await visit({ path: `/tasks/${id}` });
    await page.locator('.log-line').getByText('200000', { exact: true }).waitFor();
    expect(await page.getByText('200,000 lines').count()).toBe(0);
    await writeFile(gate, '');
    await page.getByText('200,000 lines').waitFor();
  });

  it('shows what was handed in and what came out, and saves it', async () => {
    const script =
      "const { writeFileSync } = require('node:fs'); writeFileSync('index.html', '<script>alert(1)</script>');";
    const id = await handIn({ name: 'files', scripts: [script], variables: { speed: '1500', load: 'NaN' } });
    const page = await visit({ path: `/tasks/${id}` });
    await page.locator('.view-head').getByText('Finished').waitFor();
    await page.getByRole('tab', { name: /Inputs/ }).click();
    await page.getByRole('row', { name: 'speed 1500' }).waitFor();
    await page.getByRole('row', { name: 'load NaN' }).waitFor();
    await page.locator('pre').getByText('writeFileSync').waitFor();
    await expectAccessible(page);
    await page.getByRole('tab', { name: /Outputs/ }).click();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download: index.html' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('index.html');
    expect(await readFile(await saved.path(), 'utf8')).toBe('<script>alert(1)</script>');
    await expectAccessible(page);
  });

  it('wraps long lines when told to, and remembers it', async () => {
    const script = 'println("word ".repeat(400)); println("after it");';
    const id = await handIn({ name: 'long line', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}` });
    const after = page.locator('.log-line').getByText('after it');
    await after.waitFor();
    const overflow = () =>
      page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.log-lines'))",
      );
    expect(await overflow()).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Wrap lines' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(overflow).toBe(0);
    const first = await page.locator('.log-line').first().boundingBox();
    const second = await after.boundingBox();
    expect(first?.height).toBeGreaterThan(40);
    // The next line begins beneath the wrapped one.
    expect(second?.y).toBeGreaterThanOrEqual((first?.y ?? 0) + (first?.height ?? 0));
    await expectAccessible(page);
    await page.reload();
    await after.waitFor();
    await expect.poll(overflow).toBe(0);
    await page.getByRole('button', { name: 'Wrap lines' }).click();
    await expect.poll(overflow).toBeGreaterThan(0);
  });

  it('saves all outputs as one archive, and the signed manifest', async () => {
    const script =
      "const fs = require('node:fs'); fs.mkdirSync('plots'); fs.writeFileSync('plots/größe.csv', 'a,b');" +
      " fs.writeFileSync('empty.txt', ''); fs.writeFileSync('large.bin', Buffer.alloc(3_000_000, 7));";
    const id = await handIn({ name: 'many files', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}` });
    await page.locator('.view-head').getByText('Finished').waitFor();
    await page.getByRole('tab', { name: /Outputs/ }).click();
    await expectAccessible(page);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: /^Download all/ }).focus();
    await page.keyboard.press('Enter');
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe(`${id}.tar`);
    const listed = execFileSync('tar', ['-tvf', await saved.path()], {
      encoding: 'utf8',
      env: { LC_ALL: 'C.UTF-8' },
    });
    expect(listed.match(/(?<= )\d+ .*/g)?.map((line) => line.split(' ')[0])).toEqual(['0', '3000000', '3']);
    for (const name of ['empty.txt', 'large.bin', 'plots/größe.csv'])
      expect(listed).toContain(`${id}/${name}`);
    const signing = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Signed manifest' }).click();
    const signed = await signing;
    expect(signed.suggestedFilename()).toBe(`${id}.manifest.json`);
    const { manifest } = JSON.parse(await readFile(await signed.path(), 'utf8')) as SignedManifest;
    expect(manifest.task.id).toBe(id);
    expect(manifest.outputs.map(({ path }) => path)).toEqual(['empty.txt', 'large.bin', 'plots/größe.csv']);
  });

  it('says why a task waits, and cancels it after a question, by keyboard', async () => {
    const id = await handIn({ name: 'for nobody', scripts: ['1'], labels: 'gpu' });
    const page = await visit({ path: `/tasks/${id}` });
    await page.getByText('No instance that the hub knows fits').waitFor();
    await page.getByText('Without the label gpu, 2 would fit').waitFor();
    await page.getByText('No instance offers the label gpu').waitFor();
    await page.getByText('hand the job in with other needs').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog', { name: 'Cancel for nobody?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await page.locator('button:focus', { hasText: 'Cancel' }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('alertdialog').locator(':focus').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.view-head').getByText('Canceled').waitFor();
    await page.getByText('The task never ran').waitFor();
    await page.getByRole('region', { name: 'Life' }).getByText('Canceled', { exact: true }).waitFor();
  });

  it('says that a canceled task keeps what it has printed, and keeps it', async () => {
    const scripts = ["println('printed before'); setInterval(() => undefined, 1000);"];
    const id = await handIn({ name: 'too long', scripts });
    const page = await visit({ path: `/tasks/${id}` });
    await page.getByText('printed before').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Cancel too long?' });
    await dialog.getByText('Its log and the files that it has written so far are kept.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel the task' }).click();
    await page.locator('.view-head').getByText('Canceled').waitFor();
    await page.getByText('printed before').waitFor();
    await page.reload();
    await page.getByText('printed before').waitFor();
  });

  it('shows the attempts of a task in their order, and the end of the log of a failed one', async () => {
    const script = 'for (let i = 1; i <= 300; i++) println("line " + i); throw new Error("no mesh")';
    const id = await handIn({ name: 'fails', scripts: [script] });
    const page = await visit({ path: `/tasks/${id}` });
    const life = page.getByRole('region', { name: 'Life' });
    await life.getByText('failed').waitFor();
    expect(await life.getByRole('listitem').count()).toBe(2);
    await page.locator('.notice').getByText('script 1 of 1 exited with code 1').waitFor();
    await page.reload();
    await page.locator('.log-line').getByText('line 300', { exact: true }).waitFor();
  });

  it('deletes an ended task, and says of a link to it that it is gone', async () => {
    const id = await handIn({ name: 'to be deleted', scripts: ['1'] });
    const page = await visit({ path: `/tasks/${id}` });
    const other = await visit({ path: `/tasks/${id}`, context: page.context() });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await other.getByText('This task does not exist').waitFor();
    await expectAccessible(other);
  });
});
