/** The screen of hosts that workload managers bring, in a browser. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visitAs } from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';
import { JobTable } from '../support/hosts/job-table.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const NAMES = ['cloud', 'brittle', 'paused', 'away'] as const;
const PRINTED = `loading the solver\n${'a line of the solver that is rather long\n'.repeat(8)}no license left\n`;

/** A table of jobs for each recipe, by its name, which is the label of its instances, too. */
const tables = new Map<string, JobTable>();
let folder: TemporaryFolder;

const tableOf = (name: (typeof NAMES)[number]) => tables.get(name) as JobTable;

/** Hands in a job for hosts of the recipe; resolves with the name of the allocation that comes for it. */
async function wantHost(page: Page, name: (typeof NAMES)[number]): Promise<string> {
  const { accessToken: token } = await logIn(new Api(hub), 'anna');
  await handIn({ name: `job for ${name}`, scripts: ['1'], labels: name, token });
  const row = recipeOn(page, name).getByRole('row', { name: 'Queued' });
  await row.waitFor();
  return (await row.getByRole('rowheader').textContent())?.replace(/job .*/, '') ?? '';
}

const recipeOn = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

describe.runIf(hasBrowser)('the screen of hosts', () => {
  consoleForAllTests(async () => {
    folder = await temporaryFolder();
    const hosts = NAMES.map((name) => {
      const path = join(folder.path, name);
      mkdirSync(path);
      const table = new JobTable(path, name);
      tables.set(name, table);
      const max = name === 'cloud' ? { max: { allocations: 20, hostHoursPerDay: 400 } } : {};
      return table.recipe({ name, ...max });
    });
    return { users: USERS, config: { hosts } };
  });
  afterAll(() => folder.remove());

  it('follows a host from the task that waits to its work, for everybody', async () => {
    const page = await visitAs('vera', '/tasks');
    await page.getByRole('navigation').getByRole('link', { name: 'Hosts' }).click();
    await page.getByRole('heading', { name: 'Hosts that come and go' }).waitFor();
    const recipe = recipeOn(page, 'cloud');
    await recipe.getByText('0 of 20').waitFor();
    const name = await wantHost(page, 'cloud');
    const row = recipe.getByRole('row').filter({ hasText: name });
    await row.getByText('1 task waits for any version, labels cloud').waitFor();
    await row.getByText('job 1').waitFor();
    await recipe.getByText('1 of 20').waitFor();
    await recipe.getByText('0 of 400 h').waitFor();
    await recipe.getByText('2 h reserved').waitFor();
    await expectAccessible(page);
    tableOf('cloud').run(name, 3600);
    await row.getByText('Starts').waitFor();
    await row.getByText(/^(?:1 h 00|59) min/).waitFor();
    const agent = await tableOf('cloud').join(hub, name);
    await row.getByText('Works').waitFor();
    expect(await page.getByRole('button', { name: /cloud/ }).count()).toBe(0);
    const months = page.getByRole('region', { name: 'Host-hours by month' });
    await eventually(async () => {
      await page.reload();
      await recipe.getByText('1 of 20').waitFor();
      return (await months.getByRole('row', { name: /cloud.* h$/ }).count()) > 0;
    });
    await expectAccessible(page);
    await row.getByRole('link', { name }).click();
    await page
      .getByRole('region', { name })
      .getByRole('link', { name: `${name}-gear-1`, exact: true })
      .waitFor();
    const { ref } = await agent.hear('assign');
    await agent.end(ref, 'OK');
  });

  it('says why a start failed, with the end of its output, and when it is tried again', async () => {
    const page = await visitAs('anna', '/hosts');
    const recipe = recipeOn(page, 'brittle');
    const name = await wantHost(page, 'brittle');
    tableOf('brittle').fail(name, PRINTED);
    const row = recipe.getByRole('row').filter({ hasText: name });
    await row.getByText('Start failed').waitFor();
    await row.getByText('The workload manager ended the job before its time').waitFor();
    await recipe.getByText('The latest start failed. The next try is').waitFor();
    await recipe.getByText('no license left').first().waitFor();
    await expectAccessible(page);
    const toggle = row.getByRole('button', { name: `Show all: ${name}` });
    const heightOf = async () => (await row.boundingBox())?.height ?? 0;
    const before = await heightOf();
    await toggle.click();
    await row.getByRole('button', { name: `Show less: ${name}` }).waitFor();
    expect(await heightOf()).toBeGreaterThan(before + 40);
    await recipe.getByRole('button', { name: 'Try now: brittle' }).click();
    await page.getByText('brittle brings hosts again').waitFor();
    await recipe.getByText('The latest start failed.').waitFor({ state: 'detached' });
    // The task still waits: it is tried at once.
    await recipe.getByRole('row', { name: 'Queued' }).waitFor();
  });

  it('shows the failure to a viewer without the words of the workload manager', async () => {
    const page = await visitAs('vera', '/hosts');
    await recipeOn(page, 'brittle').getByText('Start failed').first().waitFor();
    expect(await page.getByText('no license left').count()).toBe(0);
    expect(await page.getByRole('button', { name: /brittle/ }).count()).toBe(0);
  });

  it('pauses, resumes, and gives hosts back after a question', async () => {
    const page = await visitAs('anna', '/hosts');
    const recipe = recipeOn(page, 'paused');
    const button = (label: string) => recipe.getByRole('button', { name: `${label}: paused` });
    expect(await button('Give back').isDisabled()).toBe(true);
    const name = await wantHost(page, 'paused');
    await button('Pause').click();
    await recipe.getByText('Paused by anna').waitFor();
    await page.getByText('paused brings no more hosts').waitFor();
    await expectAccessible(page);
    await button('Give back').click();
    const dialog = page.getByRole('alertdialog', { name: 'Give back all hosts of paused?' });
    await dialog.waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(tableOf('paused').isCanceled(name)).toBe(false);
    await button('Give back').click();
    await dialog.getByRole('button', { name: 'Give back' }).click();
    const row = recipe.getByRole('row').filter({ hasText: name });
    await row.getByText('An administrator gave it back').waitFor();
    await row.getByText('Over').waitFor();
    await eventually(() => tableOf('paused').isCanceled(name));
    await button('Resume').click();
    await recipe.getByText('Paused by anna').waitFor({ state: 'detached' });
  });

  it('says that a workload manager is away, and goes on when it is back', async () => {
    const page = await visitAs('anna', '/hosts');
    const recipe = recipeOn(page, 'away');
    await wantHost(page, 'away');
    tableOf('away').leave();
    await recipe.getByText('Workload manager away').waitFor();
    await recipe.getByText('the manager is away').waitFor();
    await expectAccessible(page);
    tableOf('away').comeBack();
    await recipe.getByText('Ready').waitFor();
  });
});

describe.runIf(hasBrowser)('a hub without recipes of hosts', () => {
  consoleForAllTests({ users: USERS });

  it('has no entry for them, and says at their address how to get some', async () => {
    const page = await visitAs('anna', '/hosts');
    await page.getByText('No recipes').waitFor();
    await page.getByText('With a recipe').waitFor();
    await expectAccessible(page);
    const entries = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(entries).toContain('Instances');
    expect(entries).not.toContain('Hosts');
  });
});
