/** A study is put together from a job that ran, and started, in a browser. */
import type { Page, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, handIn, hub, visitAs } from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';

const SCRIPT = `const fs = require('node:fs');
fs.writeFileSync('result.json', JSON.stringify({ stress: { max: Number(speed) * Number(load) } }));
fs.writeFileSync('motion.csv', 'time;x\\n0;1\\n1;' + speed + '\\n');`;

/** Hands in the job as ulla, and resolves with its task when it has ended. */
async function endedJob(): Promise<string> {
  const { accessToken: token } = await logIn(new Api(hub), 'ulla');
  const id = await handIn({
    name: 'bearing',
    scripts: [SCRIPT],
    variables: { speed: '1000', load: '2', oil: 'VG 46' },
    token,
  });
  await eventually(
    async () => (await new Api(hub, token).get(`/api/x/tasks/${id}`)).body['status'] === 'FINISHED',
  );
  return id;
}

const level = (page: Page, variable: string, field: string) =>
  page.getByRole('group', { name: `Levels of ${variable}` }).getByLabel(field, { exact: true });

describe.runIf(hasBrowser)('a new study', () => {
  consoleForAllTests({ users: USERS });

  it('begins at a job that ran, and leads to its points', async () => {
    const id = await endedJob();
    const page = await visitAs('ulla', `/tasks/${id}`);
    await page.getByRole('link', { name: 'New study' }).click();
    await page.getByRole('heading', { name: 'New study of bearing' }).waitFor();
    await page.getByRole('checkbox', { name: 'speed = 1000' }).check();
    await page.getByRole('checkbox', { name: 'load = 2' }).check();
    await level(page, 'load', 'Levels').selectOption('one by one');
    await level(page, 'load', 'List').fill('1, 2');
    await level(page, 'speed', 'Number of levels').fill('3');
    await page.getByText('6 points').first().waitFor();
    await page.getByText(/^if each point takes .*, as the job did, and the 2 instances/).waitFor();
    await page.getByRole('checkbox', { name: '$.stress.max in result.json' }).check();
    await page.getByRole('checkbox', { name: 'x in motion.csv' }).check();
    await page.getByLabel('Row of x').selectOption('highest');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Start the study' }).click();
    await page.getByRole('heading', { name: 'bearing', level: 1 }).waitFor();
    await page.getByRole('button', { name: /^Finished 6/ }).waitFor();
    await page.getByRole('button', { name: 'x_max' }).waitFor();
    await page.getByRole('cell', { name: '3000' }).waitFor();
  });

  it('is not started when that is stopped', async () => {
    const page = await visitAs('ulla', `/studies/new?from=${await endedJob()}`);
    await page.getByRole('checkbox', { name: 'speed = 1000' }).check();
    await level(page, 'speed', 'Number of levels').fill('3');
    const name = page.getByLabel('Name of the study');
    await name.fill('stopped');
    const isStudies = ({ pathname }: URL) => pathname === '/api/x/studies';
    await page.route(isStudies, (route) =>
      route.request().method() === 'POST' ? undefined : route.continue(),
    );
    await page.getByRole('button', { name: 'Start the study' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The start was stopped.').waitFor();
    await expectAccessible(page);
    await name.fill('started');
    await page.getByText('The start was stopped.').waitFor({ state: 'detached' });
    await page.unroute(isStudies);
    await page.getByRole('button', { name: 'Start the study' }).click();
    await page.getByRole('button', { name: /^Finished 3/ }).waitFor();
    await page.locator('nav.navigation').getByRole('link', { name: 'Studies' }).click();
    await page.getByRole('link', { name: 'started' }).waitFor();
    expect(await page.getByRole('link', { name: 'stopped' }).count()).toBe(0);
  });

  it('stays as it was changed on the way back, and is started once', async () => {
    const id = await endedJob();
    const page = await visitAs('ulla', `/studies/new?from=${id}`);
    await page.getByRole('checkbox', { name: 'speed = 1000' }).check();
    await level(page, 'speed', 'Number of levels').fill('3');
    const asked: Route[] = [];
    await page.route(
      ({ pathname }) => pathname === '/api/x/studies',
      (route) => (route.request().method() === 'POST' ? void asked.push(route) : route.continue()),
    );
    await page.getByRole('button', { name: 'Start the study' }).click();
    await expect.poll(() => asked).toHaveLength(1);
    await page.locator('nav.navigation').getByRole('link', { name: 'Tasks' }).click();
    await page.getByRole('heading', { name: 'Tasks' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Starting …', disabled: true }).waitFor();
    expect(await level(page, 'speed', 'Number of levels').inputValue()).toBe('3');
    await asked[0]?.continue();
    await page.getByRole('button', { name: /^Finished 3/ }).waitFor();
    expect(asked).toHaveLength(1);
  });

  it('reuses earlier results and bundles small points if that is chosen', async () => {
    const id = await endedJob();
    const page = await visitAs('ulla', `/studies/new?from=${id}`);
    await page.getByRole('checkbox', { name: 'speed = 1000' }).check();
    await level(page, 'speed', 'Levels').selectOption('one by one');
    await level(page, 'speed', 'List').fill('1000, 2000');
    await page.getByRole('checkbox', { name: 'Reuse earlier results' }).check();
    await page.getByRole('checkbox', { name: 'Bundle very small points' }).check();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Start the study' }).click();
    await page.getByRole('button', { name: /^Reused 1/ }).waitFor();
    await page.getByRole('button', { name: /^Finished 1/ }).waitFor();
    const { accessToken: token } = await logIn(new Api(hub), 'ulla');
    const { body } = await new Api(hub, token).get(`/api/x/studies/${page.url().split('/').at(-1)}`);
    expect(body).toMatchObject({ reuse: true, bundle: true });
  });

  it('begins at the form for a job, and says at the field what is wrong', async () => {
    const id = await endedJob();
    const page = await visitAs('ulla', `/new?from=${id}`);
    await page.getByLabel('Value 1').fill('3000');
    await page.getByRole('link', { name: 'Run it as a study …' }).click();
    await page.getByRole('button', { name: 'Start the study' }).click();
    await page.getByText('Choose at least one variable.').waitFor();
    await page.getByRole('checkbox', { name: 'speed = 3000' }).check();
    await level(page, 'speed', 'From').fill('fast');
    await level(page, 'speed', 'From').and(page.locator('[aria-invalid]')).waitFor();
    await page.getByText('It must be a number.').waitFor();
    await expectAccessible(page);
    await level(page, 'speed', 'From').fill('1');
    await level(page, 'speed', 'Number of levels').fill('99999999');
    await page.getByText('99,999,999 points').first().waitFor();
    await page.getByRole('button', { name: 'Start the study' }).click();
    // The sentence of the hub stands at the plan, and in the refusal.
    await page
      .getByRole('region', { name: 'Plan' })
      .getByText(/^gives 99999999 points/)
      .waitFor();
    await page.getByRole('radio', { name: /^Latin hypercube/ }).check();
    await page.getByText('The hub draws 200 points between these bounds.').waitFor();
    await page.getByRole('link', { name: 'Change the job' }).click();
    await expect.poll(() => page.getByLabel('Value 1').inputValue()).toBe('3000');
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.goto(`${hub.address}/studies/new`);
    await page.getByText('A study starts from a job').waitFor();
    await expectAccessible(page);
  });
});
