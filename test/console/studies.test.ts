/** The list of studies and the page of one in a browser. */
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, expectAccessible, hub, visitAs } from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { base64 } from '../support/interface/rest-client.js';

const STUDIES = '/api/x/studies';
const PHONE_WIDTH = 390;

async function apiOf(username: keyof typeof USERS): Promise<Api> {
  const api = new Api(hub);
  return api.as((await logIn(api, username)).accessToken);
}

/** Creates a study of these speeds as ulla; returns its id. */
async function createStudy(name: string, speeds: readonly number[], fields: object = {}): Promise<string> {
  const json = {
    name,
    inputScripts: [{ content: base64('run()') }],
    variables: [{ name: 'speed', unit: '1/min' }],
    plan: { kind: 'LIST', points: speeds.map((speed) => ({ speed })) },
    values: [
      {
        name: 'stress',
        unit: 'MPa',
        source: { kind: 'FILE', path: 'result.json' },
        reader: { kind: 'JSON_PATH', path: '$.stress' },
      },
    ],
    ...fields,
  };
  const answer = await (await apiOf('ulla')).call('POST', STUDIES, { json });
  expect(answer.status, answer.text).toBe(201);
  return (answer.body as unknown as { id: string }).id;
}

async function isSettled(id: string, state: string): Promise<void> {
  const api = await apiOf('vera');
  await eventually(async () => {
    const study = (await api.get(`${STUDIES}/${id}`)).body as unknown as {
      state: string;
      points: { open: number };
    };
    return study.state === state && study.points.open === 0;
  });
}

/** An agent whose runs give 1e6 / speed as stress; those of 700 fail, and those of 1 never end. */
async function agentThatRuns(instances = 2): Promise<void> {
  const agent: FakeAgent = await FakeAgent.join(hub, {
    id: `host-${randomUUID()}`,
    nodeId: randomUUID(),
    instances: Array.from({ length: instances }, (_, index) => ({ id: `fake-${randomUUID()}-${index + 1}` })),
    onHeard(message) {
      if (message.type === 'cancel') this.report(message.ref, 'CANCELED');
      if (message.type !== 'assign') return;
      const { ref, job } = message;
      const variables = job.type === 'EXECUTE_BATCH_JOB' ? job.variables : [];
      const speed = Number(variables.find(({ key }) => key === 'speed')?.value);
      if (speed === 700) this.report(ref, 'ERROR', { message: 'the solution diverged\nat step 12' });
      else if (speed !== 1) {
        void this.upload(JSON.stringify({ stress: 1e6 / speed })).then((file) =>
          this.report(ref, 'OK', { outputFiles: [{ path: 'result.json', ...file }] }),
        );
      }
    },
  });
  onTestFinished(async () => agent.leave((await apiOf('anna')).token));
}

/** Numbers of the points that the table shows, in its order. */
const shownNumbers = (page: Page) => page.locator('.study-space .study-link').allTextContents();

/** Whether something is drawn on a canvas. */
const isInked = (page: Page, canvas: string) =>
  page.evaluate(`(() => {
    const canvas = document.querySelector('${canvas}');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.some((each) => each !== 0);
  })()`);

async function expectNoWidePage(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  const main =
    '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector("main"))';
  expect(await page.evaluate(main)).toBeLessThanOrEqual(0);
}

describe.runIf(hasBrowser)('studies', () => {
  consoleForAllTests({ users: USERS, config: { instances: [] } });

  it('are none at first, and the list says how to create one', async () => {
    const page = await visitAs('vera', '/');
    await page.getByRole('navigation').getByRole('link', { name: 'Studies' }).click();
    await page.getByText('No studies yet').waitFor();
    await page.getByText(/ wb study run /).waitFor();
    await expectAccessible(page);
  });

  it('have tasks that the list of tasks leaves out until they are asked for', async () => {
    await agentThatRuns();
    const id = await createStudy('flywheel', [500, 1000]);
    await isSettled(id, 'FINISHED');
    const page = await visitAs('ulla', '/tasks?name=flywheel');
    await page.getByText('No task matches').waitFor();
    const choice = page.getByRole('combobox', { name: 'Points of studies' });
    await choice.selectOption('listed, too');
    await page.getByText('2 tasks').waitFor();
    expect(new URL(page.url()).searchParams.get('study')).toBe('all');
    await page.getByRole('link', { name: 'flywheel #2' }).click();
    await page.getByRole('link', { name: 'Point 2 of flywheel' }).click();
    await page.getByRole('link', { name: 'Tasks of its points' }).click();
    await page.getByText('2 tasks').waitFor();
    expect(new URL(page.url()).search).toBe(`?study=${id}`);
    await choice.getByText('only of flywheel').waitFor({ state: 'attached' });
    await expectAccessible(page);
    await page.getByRole('link', { name: 'flywheel #1' }).click();
    await page.getByRole('link', { name: 'Point 1 of flywheel' }).waitFor();
    await (await apiOf('ulla')).call('DELETE', `${STUDIES}/${id}`);
    await page.reload();
    await page.getByText('Point 1 of flywheel (the study is deleted)').waitFor();
    expect(await page.getByRole('link', { name: 'Point 1 of flywheel' }).count()).toBe(0);
  });

  it('show their points as a table that is sorted and filtered, by an address that others can open', async () => {
    await agentThatRuns();
    const id = await createStudy('bearing', [500, 2000, 700, 1000]);
    await isSettled(id, 'FINISHED');
    const page = await visitAs('vera', '/studies');
    const row = page.getByRole('row').filter({ hasText: 'bearing' });
    await row.getByText('4 of 4, 1 failed').waitFor();
    await row.getByText('ulla').waitFor();
    await expectAccessible(page);
    await row.getByRole('link', { name: 'bearing' }).click();
    await page.getByRole('heading', { name: 'bearing', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'stress [MPa]' }).click();
    expect(await shownNumbers(page)).toEqual(['2', '4', '1', '3']);
    await page.getByRole('button', { name: 'stress [MPa]' }).click();
    await page
      .getByRole('columnheader', { name: 'stress', exact: false })
      .and(page.locator('[aria-sort="descending"]'))
      .waitFor();
    expect(await shownNumbers(page)).toEqual(['1', '4', '2', '3']);
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Solver failed/ }).click();
    expect(await shownNumbers(page)).toEqual(['3']);
    await page.reload();
    await page.getByText('the solution diverged').waitFor();
    expect(await shownNumbers(page)).toEqual(['3']);
    expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Point 3' }).click();
    await page.getByRole('heading', { name: 'bearing #3' }).waitFor();
  });

  it('show their points as a plot, by mouse and keys, and name the best one', async () => {
    await agentThatRuns();
    const id = await createStudy('gear', [500, 2000, 700, 1000]);
    await isSettled(id, 'FINISHED');
    const page = await visitAs('vera', `/studies/${id}?tab=plot`);
    await page.getByText('4 points are shown. 1 failed point lies at the edge.').waitFor();
    for (const kind of ['.study-dots', '.study-crosses']) expect(await isInked(page, kind)).toBe(true);
    await page.getByRole('link', { name: 'Point 1, Finished: speed [1/min] 500, stress [MPa] 2000' }).focus();
    await page.keyboard.press('End');
    await page.locator('.study-tip').getByText('Point 2, Finished').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Up: logarithmic').check();
    await page.getByRole('combobox', { name: 'Across' }).selectOption('stress');
    expect(new URL(page.url()).search).toBe('?tab=plot&x=values.stress&y-scale=log');
    // A failed point has no stress, and so no place.
    await page.getByText('3 points are shown. 1 point has no place on these axes.').waitFor();
    const best = page.getByRole('region', { name: 'Best so far' });
    await best.getByText('500 MPa').waitFor();
    await best.getByRole('combobox', { name: 'Lowest or highest' }).selectOption('max');
    await best.getByText('2000 MPa').waitFor();
    await best.getByRole('link', { name: 'Point 1' }).click();
    await page.getByRole('heading', { name: 'gear #1' }).waitFor();
  });

  it('show what differs between points that are chosen in the table', async () => {
    await agentThatRuns();
    const id = await createStudy('lever', [500, 700, 1000, 500]);
    await isSettled(id, 'FINISHED');
    const page = await visitAs('vera', `/studies/${id}`);
    for (const number of [4, 2]) {
      await page.getByRole('checkbox', { name: `Compare point ${number}` }).focus();
      await page.keyboard.press('Space');
    }
    await expect.poll(() => new URL(page.url()).search).toBe('?chosen=2%2C4');
    await page.getByRole('tab', { name: 'Compare 2' }).click();
    await page.getByRole('row', { name: 'speed [1/min] 700 500' }).waitFor();
    await page.getByRole('row', { name: 'Outcome Solver failed Finished' }).waitFor();
    await page.getByRole('row', { name: /^Message the solution diverged/ }).waitFor();
    await expectAccessible(page);
    await page.goto(`${hub.address}/studies/${id}?tab=compare&chosen=1,4`);
    await page.getByText('The same for all: speed, stress').waitFor();
    await page.getByRole('button', { name: 'Leave out point 4' }).click();
    await page.getByText('Choose two points or more').waitFor();
    await expectAccessible(page);
  });

  it('show on parallel axes, and as a matrix, how variables and values go together', async () => {
    await agentThatRuns();
    const id = await createStudy('crank', [500, 2000, 700, 1000]);
    await isSettled(id, 'FINISHED');
    const page = await visitAs('vera', `/studies/${id}`);
    await page.getByRole('tab', { name: 'Parallel' }).click();
    await page.getByText('3 finished as lines, 1 failed or canceled as dashed lines.').waitFor();
    await page.getByRole('img', { name: 'Parallel coordinates of speed, stress' }).waitFor();
    for (const kind of ['.study-lines', '.study-failed-lines']) expect(await isInked(page, kind)).toBe(true);
    await expectAccessible(page);
    await page.getByRole('tab', { name: 'Correlation' }).click();
    await page.getByRole('row', { name: 'stress -0.93 1.00' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('combobox', { name: 'Coefficient' }).selectOption('spearman');
    await page.getByRole('row', { name: 'stress -1.00 1.00' }).waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe('?tab=correlation&correlation=spearman');
    await expectAccessible(page);
  });

  it('offer to run the jobs of points again, but not those of bundles', async () => {
    const ran = { single: '', bundle: '' };
    const agent: FakeAgent = await FakeAgent.join(hub, {
      id: `host-${randomUUID()}`,
      nodeId: randomUUID(),
      instances: [{ id: `fake-${randomUUID()}`, runs: { points: true } }],
      onHeard(message) {
        if (message.type === 'cancel') this.report(message.ref, 'CANCELED');
        if (message.type !== 'assign' || message.job.type !== 'EXECUTE_BATCH_JOB') return;
        const { ref, job } = message;
        ran[job.points ? 'bundle' : 'single'] = ref.taskId;
        if (!job.points) this.report(ref, 'OK');
      },
    });
    onTestFinished(async () => agent.leave((await apiOf('anna')).token));
    const speeds = Array.from({ length: 200 }, (_, index) => index + 1);
    await createStudy('small', speeds, { bundle: true, values: [] });
    await expect.poll(() => ran.bundle).not.toBe('');
    const page = await visitAs('ulla', `/tasks/${ran.single}`);
    for (const name of ['Run again', 'New study']) await page.getByRole('link', { name }).waitFor();
    await page.goto(`${hub.address}/tasks/${ran.bundle}`);
    await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
    for (const name of ['Run again', 'New study'])
      expect(await page.getByRole('link', { name }).count()).toBe(0);
    // A link that was kept leads to the study in place of a job that nobody wants.
    for (const path of ['/new', '/studies/new']) {
      await page.goto(`${hub.address}${path}?from=${ran.bundle}`);
      await page.getByText('That task is a bundle of points of a study').waitFor();
      await expectAccessible(page);
      expect(await page.getByText('script-1').count()).toBe(0);
      await page.getByRole('link', { name: 'To the study' }).click();
      await page.getByRole('heading', { name: 'small', level: 1 }).waitFor();
    }
  });

  it('group failures by their reason, which leads to its points', async () => {
    await agentThatRuns();
    const id = await createStudy('shaft', [700, 500, 700], { success: [{ value: 'stress', upper: 1000 }] });
    await isSettled(id, 'FINISHED');
    const page = await visitAs('vera', `/studies/${id}?tab=failures`);
    const group = page.getByRole('row').filter({ hasText: 'the solution diverged' });
    await group.getByRole('cell', { name: '2', exact: true }).waitFor();
    await page.getByText('Condition not met').first().waitFor();
    await expectAccessible(page);
    await group.getByRole('button').click();
    await page.getByText('Only points with: Solver failed, the solution diverged').waitFor();
    expect(await shownNumbers(page)).toEqual(['1', '3']);
    await page.getByRole('button', { name: 'All points' }).click();
    await expect.poll(() => shownNumbers(page)).toEqual(['1', '2', '3']);
  });

  it('show what changes, and are paused, resumed, stopped and deleted by their creator', async () => {
    const id = await createStudy('wing', [1, 1, 500]);
    const page = await visitAs('ulla', `/studies/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await agentThatRuns(3);
    await page.getByRole('button', { name: /^Finished/ }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('alertdialog', { name: 'Stop wing?' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Stop the study' }).click();
    await page.getByRole('button', { name: /^Canceled 2/ }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the study' }).click();
    await page.waitForURL(`${hub.address}/studies`);
    await page.goto(`${hub.address}/studies/${id}`);
    await page.getByText('There is no such study').waitFor();
  });

  it('try failed points again', async () => {
    await agentThatRuns();
    const id = await createStudy('spring', [700, 500]);
    await isSettled(id, 'FINISHED');
    const page = await visitAs('anna', `/studies/${id}`);
    await page.getByRole('button', { name: 'Retry failed' }).click();
    await page.getByRole('button', { name: 'Try them again' }).click();
    const api = await apiOf('vera');
    await eventually(async () => {
      const { points } = (await api.get(`${STUDIES}/${id}/points`)).body as unknown as {
        points: { tries: number }[];
      };
      return points[0]?.tries === 2;
    });
  });

  it('are usable on a phone', async () => {
    await agentThatRuns();
    const id = await createStudy(
      'a study with a long name that has to be broken somewhere',
      [500, 700, 1000],
    );
    await isSettled(id, 'FINISHED');
    const page = await visitAs('ulla', '/studies', PHONE_WIDTH);
    await page.getByRole('row').filter({ hasText: 'somewhere' }).getByText('3 of 3, 1 failed').waitFor();
    await expectNoWidePage(page);
    await expectAccessible(page);
    for (const tab of ['points', 'compare&chosen=1,2', 'plot', 'parallel', 'correlation', 'failures']) {
      await page.goto(`${hub.address}/studies/${id}?tab=${tab}`);
      await page.getByRole('tabpanel').waitFor();
      await expectNoWidePage(page);
      await expectAccessible(page);
    }
  });
});
