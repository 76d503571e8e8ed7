/** The path of an engineer through the console, with the multibody simulator: by mouse, and by keyboard alone. */
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, visitAs } from '../support/browsers/console.js';
import { goTo, openPalette, paste, tabTo } from '../support/browsers/keyboard.js';
import { USERS } from '../support/hubs/running-hub.js';

const JOB = ['slider-crank.xml', 'simulate.js', 'report.js'].map((name) =>
  fileURLToPath(new URL(`../../deploy/quickstart/${name}`, import.meta.url)),
);
const VARIABLES = 'crankSpeedRpm\t900\nsimulatedSeconds\t1';
const command = ['workbench-mujoco'];
const INSTANCES = [
  { id: 'with-gpu', version: '3.14.0', labels: ['multibody', 'gpu'], command },
  { id: 'without', version: '3.15.0', labels: ['multibody'], command },
  { id: 'old', version: '3.9.0', labels: ['multibody', 'gpu'], command },
];

describe.runIf(hasBrowser)('an engineer', () => {
  consoleForAllTests({ users: USERS, config: { instances: INSTANCES } });

  it('drops a model and scripts, watches the log, looks at the plots, and runs it again by mouse', async () => {
    const page = await visitAs('ulla', '/');
    await page.getByRole('link', { name: 'New job' }).click();
    await page.locator('input[type=file]').first().setInputFiles(JOB);
    expect(await page.getByLabel('What slider-crank.xml is').inputValue()).toBe('MODEL');
    await page.getByLabel('Name 1').click();
    await paste(page, VARIABLES);
    expect(await page.getByLabel('Value 2').inputValue()).toBe('1');
    // The newest version of those that have the label.
    await page.getByRole('button', { name: 'gpu', exact: true }).click();
    await page.getByRole('button', { name: 'newest (3.14.0)' }).click();
    await page.getByText('At once').waitFor();
    await page.getByLabel('Name of the task').fill('slider-crank');
    await page.getByRole('button', { name: 'Hand in' }).click();

    const log = page.locator('.log-lines');
    await log.getByText('100 %').waitFor();
    await page.locator('.view-head').getByText('Finished').waitFor();
    await page.getByRole('region', { name: 'About' }).getByText('with-gpu').waitFor();
    await page.getByRole('tab', { name: /Outputs/ }).click();
    await page.getByRole('button', { name: 'motion.csv', exact: true }).click();
    await page.getByText('2,001 rows').waitFor();
    await page.getByRole('button', { name: 'Plot' }).click();
    await page.getByRole('img', { name: /^Plot of .* over time_s/ }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'motion.svg', exact: true }).click();
    await page.getByRole('img', { name: 'motion.svg' }).waitFor();

    await page.getByRole('link', { name: 'Run again' }).click();
    await page.getByLabel('Value 1').fill('1200');
    await page.getByRole('button', { name: 'Hand in' }).click();
    await page.getByRole('heading', { name: 'slider-crank (2)' }).waitFor();
    await log.getByText('100 %').waitFor();
    await log
      .getByText(/1200 rpm/)
      .first()
      .waitFor();
  });

  it('does the same by keyboard alone', async () => {
    const page = await visitAs('ulla', '/tasks');
    await goTo(page, 'New job');
    // The browser tells of file choosers from a moment after this call.
    const choosing = page.waitForEvent('filechooser');
    await tabTo(page, page.getByLabel('Choose files'));
    await page.keyboard.press('Enter');
    await (await choosing).setFiles(JOB);
    await tabTo(page, page.getByLabel('Name 1'));
    await paste(page, VARIABLES);
    await tabTo(page, page.getByRole('button', { name: 'gpu', exact: true }));
    await page.keyboard.press('Space');
    await tabTo(page, page.getByLabel('Name of the task'));
    await page.keyboard.type('by keyboard');
    await tabTo(page, page.getByRole('button', { name: 'Hand in' }));
    await page.keyboard.press('Enter');

    await page.getByRole('heading', { name: 'by keyboard' }).waitFor();
    await page.locator('.view-head').getByText('Finished').waitFor();
    await tabTo(page, page.getByRole('tab', { name: 'Log' }));
    await tabTo(page, page.getByRole('searchbox', { name: 'Search the log' }));
    await page.keyboard.type('100 %');
    await page.locator('.log-line.hit').waitFor();
    await tabTo(page, page.getByRole('tab', { name: 'Log' }), 'Shift+Tab');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'motion.csv', exact: true }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('button', { name: 'Plot' }));
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: /^Plot of .* over time_s/ }).waitFor();
    await openPalette(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await tabTo(page, page.getByRole('link', { name: 'Run again' }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByLabel('Value 1'));
    await page.keyboard.press('Control+a');
    await page.keyboard.type('1200');
    await tabTo(page, page.getByRole('button', { name: 'Hand in' }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by keyboard (2)' }).waitFor();
    await page.locator('.view-head').getByText('Finished').waitFor();
  });
});
