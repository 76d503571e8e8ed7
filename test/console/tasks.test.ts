/** The list of tasks in a browser. */
import type { Browser } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, rowOf, visit } from '../support/browsers/console.js';
import { openPalette } from '../support/browsers/keyboard.js';
import { eventually } from '../support/eventually.js';

describe.runIf(hasBrowser)('the list of tasks', () => {
  consoleForAllTests();

  it('says that there are none, and shows each change without a reload', async () => {
    const page = await visit();
    await page.getByText('No tasks yet').waitFor();
    await expectAccessible(page);
    await handIn({ name: 'short', scripts: ['println(1)'] });
    await rowOf(page, 'short').getByText('Finished').waitFor();
    await page.getByText('1 task').waitFor();
  });

  it('shows the times of the hub in a browser of another zone with a wrong clock', async () => {
    await handIn({ name: 'just now', scripts: ['1'] });
    const browser = (await visit()).context().browser() as Browser;
    const context = await browser.newContext({ timezoneId: 'Pacific/Auckland', locale: 'en-GB' });
    onTestFinished(() => context.close());
    await context.clock.install({ time: '2031-05-04T03:02:01Z' });
    const page = await visit({ context });
    const time = rowOf(page, 'just now').locator('time');
    await time.getByText(/^(?:now|\d+ sec\. ago)$/).waitFor();
    expect(await time.getAttribute('title')).toMatch(/GMT\+1[23]|NZ[DS]T/);
    await page.getByRole('combobox', { name: 'Requested' }).selectOption('hour');
    await page.getByRole('button', { name: 'Clear filters' }).waitFor();
    await rowOf(page, 'just now').waitFor();
    await page.getByText('2 tasks').waitFor();
  });

  it('keeps its filters in the address, with exact numbers of each status', async () => {
    await handIn({ name: 'bevel gear', scripts: ['println(1)'] });
    await handIn({ name: 'worm gear', scripts: ['throw new Error("no mesh")'] });
    await handIn({ name: 'gear for nobody', scripts: ['1'], labels: 'nowhere' });
    const page = await visit();
    await page.getByRole('searchbox', { name: 'Name' }).fill('gear');
    await page.getByRole('button', { name: 'Finished 1' }).waitFor();
    await page.getByRole('button', { name: 'Failed 1' }).click();
    await rowOf(page, 'worm gear').getByText('exited with code 1').waitFor();
    await rowOf(page, 'bevel gear').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?status=FAILED&name=gear');
    await page.getByRole('button', { name: 'Waiting 1' }).click();
    await rowOf(page, 'gear for nobody').waitFor();
    await page.reload();
    await rowOf(page, 'gear for nobody').waitFor();
    expect(await page.getByRole('searchbox', { name: 'Name' }).inputValue()).toBe('gear');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rowOf(page, 'bevel gear').waitFor();
  });

  it('shows the tasks between two times, in the zone of the reader', async () => {
    const browser = (await visit()).context().browser() as Browser;
    const context = await browser.newContext({ timezoneId: 'Pacific/Auckland', locale: 'en-GB' });
    onTestFinished(() => context.close());
    const page = await visit({ context, path: '/tasks?name=gear' });
    await page.getByText('3 tasks').waitFor();
    await page.getByRole('combobox', { name: 'Requested' }).selectOption('between');
    await page.getByLabel('From').fill('2026-01-01T12:30');
    expect(new URL(page.url()).searchParams.get('from')).toBe('2025-12-31T23:30Z');
    await page.getByText('3 tasks').waitFor();
    await page.getByLabel('To', { exact: true }).fill('2026-01-02T00:00');
    await page.getByText('No task matches').waitFor();
    await page.reload();
    await page.getByText('No task matches').waitFor();
    expect(await page.getByLabel('From').inputValue()).toBe('2026-01-01T12:30');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rowOf(page, 'bevel gear').waitFor();
  });

  it('shows hundreds by a few rows, to the last one, by keyboard', async () => {
    const names = Array.from({ length: 500 }, (_, number) => `crowd ${String(number).padStart(3, '0')}`);
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(
        names.slice(at, at + 50).map((name) => handIn({ name, scripts: ['1'], labels: 'nowhere' })),
      );
    }
    const page = await visit({ path: '/tasks?name=crowd' });
    await page.getByText('500 tasks').waitFor();
    const table = page.getByRole('table');
    expect(await table.getAttribute('aria-rowcount')).toBe('501');
    const link = page.getByRole('row').nth(1).getByRole('link');
    await link.focus();
    for (let press = 0; press < 60; press++) {
      await page.keyboard.press('PageDown');
      await page.waitForTimeout(30);
    }
    const focused = page.locator('[role=row]:focus-within');
    await eventually(async () => {
      await page.keyboard.press('PageDown');
      return (await focused.getAttribute('aria-rowindex')) === '501';
    });
    expect(await page.getByRole('row').count()).toBeLessThan(80);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Why it waits' }).waitFor();
    expect(await page.title()).toBe('crowd 000: Waiting · Workbench Hub');
    await page.goBack();
    await rowOf(page, 'crowd 000').waitFor();
    expect(await page.title()).toBe('Tasks · Workbench Hub');
  });

  it('is usable on a phone', async () => {
    const page = await visit({ width: 360, height: 740 });
    await rowOf(page, 'crowd').first().waitFor();
    await expectAccessible(page);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
  });

  it('shows commands on Ctrl+K, and obeys them', async () => {
    const page = await visit();
    await rowOf(page, 'crowd').first().waitFor();
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Type a screen' });
    await field.fill('dunk');
    await page.getByText('Nothing fits').waitFor();
    await field.fill('dark');
    await page.keyboard.press('Enter');
    await field.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await openPalette(page);
    await expectAccessible(page);
    // The last command is in view when it is reached.
    await page.setViewportSize({ width: 360, height: 420 });
    await page.keyboard.press('ArrowUp');
    const last = page.getByRole('option', { name: /^Times: Absolute/, selected: true });
    const list = await page.getByRole('listbox').boundingBox();
    const box = await last.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual((list?.y ?? 0) + (list?.height ?? 0) + 1);
  });

  it('finds tasks by a part of their name and by the short id that lists show, in the palette and in the filter', async () => {
    const id = await handIn({ name: 'planetary gear', scripts: ['1'] });
    const unnamed = await handIn({ scripts: ['1'] });
    const page = await visit({ path: '/storage' });
    const search = async (text: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Type a screen' }).fill(text);
    };
    await page.getByRole('heading', { name: 'Storage', level: 1 }).waitFor();
    await search('PLANET');
    await page.getByRole('option', { name: /planetary gear/ }).click();
    await page.waitForURL(`**/tasks/${id}`);
    await search(unnamed.slice(-8));
    await page.getByRole('option', { name: `Task ${unnamed.slice(-8)}` }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/tasks/${unnamed}`);
    await page.getByRole('heading', { name: `Task ${unnamed.slice(-8)}`, level: 1 }).waitFor();
    await page.goto(`${page.url().split('/tasks/')[0]}/tasks`);
    await page.getByRole('searchbox', { name: 'Name' }).fill(id.slice(-8));
    await rowOf(page, 'planetary gear').waitFor();
    await page.getByText('1 task', { exact: true }).waitFor();
  });

  it('says in which zone times are', async () => {
    const browser = (await visit()).context().browser() as Browser;
    const context = await browser.newContext({ timezoneId: 'Asia/Kolkata', locale: 'en-GB' });
    onTestFinished(() => context.close());
    const page = await visit({ context });
    await page.getByRole('button', { name: 'Settings' }).click();
    await page
      .getByText('Times, in the zone Asia/Calcutta')
      .or(page.getByText('Times, in the zone Asia/Kolkata'))
      .waitFor();
  });
});
