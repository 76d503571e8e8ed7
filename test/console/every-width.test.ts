/** All screens from a phone to a wall, and what Tab reaches on them. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { hasBrowser } from '../support/browsers/browser.js';
import { consoleForAllTests, handIn, hub, visitAs } from '../support/browsers/console.js';
import { eventually } from '../support/eventually.js';
import { JobTable } from '../support/hosts/job-table.js';
import { logIn } from '../support/hubs/login.js';
import { USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { base64 } from '../support/interface/rest-client.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

/** Widths in the order in which a window takes them: what is wide at first must become narrow. 320 is a window of 1280 at a zoom of 400 %. */
const WIDTHS = [2560, 1280, 768, 360, 320];
/** Languages; the last one is that of the focus. */
const LANGUAGES = ['de', 'en'];
const LONG = 'without-a-place-to-break-'.repeat(6);

let ended = '';
let waiting = '';
let study = '';
let point = '';
let plotted = '';
let parallel = '';
let agent: FakeAgent;
let jobs: JobTable;
let jobsFolder: TemporaryFolder;

const SCREENS: readonly (readonly [title: string, path: () => string])[] = [
  ['overview', () => '/'],
  ['new job', () => `/new?from=${ended}`],
  ['tasks', () => `/tasks?status=WAITING,FINISHED&study=${study}&period=between`],
  ['a task that has ended', () => `/tasks/${ended}`],
  ['a task that waits', () => `/tasks/${waiting}`],
  ['a task of a study', () => `/tasks/${point}`],
  ['studies', () => '/studies'],
  ['a new study', () => `/studies/new?from=${ended}`],
  ['a study', () => `/studies/${study}`],
  ['a plot of a study', () => `/studies/${plotted}?tab=plot`],
  ['parallel axes of a study', () => `/studies/${parallel}?tab=parallel`],
  ['instances', () => '/instances'],
  ['an instance', () => '/instances/sim-1'],
  ['hosts', () => '/hosts'],
  ['storage', () => '/storage'],
  ['tokens', () => '/tokens'],
  ['agents', () => '/administration/agents'],
  ['users', () => '/administration/users'],
  ['audit log', () => '/administration/audit'],
  ['hubs', () => '/administration/hubs'],
  ['machine of the hub', () => '/administration/server'],
  ['log file', () => '/administration/log'],
  ['shutdown', () => '/administration/shutdown'],
];

/** Creates a study whose points fail with a long message, and resolves with its id when they have. */
async function createStudy(token: string, name: string): Promise<string> {
  const api = new Api(hub, token);
  const variable = LONG.slice(0, 60).replaceAll('-', '_');
  const json = {
    name,
    note: LONG,
    inputScripts: [{ content: base64(`throw new Error('${LONG}')`) }],
    variables: [{ name: variable, unit: 'revolutions/minute' }, { name: 'load' }],
    plan: { kind: 'LIST', points: [1, 2000].map((load) => ({ [variable]: load, load })) },
    values: [
      {
        name: 'a_value_that_is_missing',
        source: { kind: 'FILE', path: 'result.json' },
        reader: { kind: 'JSON_PATH', path: '$.value' },
      },
    ],
  };
  const { status, text, body } = await api.call('POST', '/api/x/studies', { json });
  expect(status, text).toBe(201);
  const id = String(body['id']);
  await eventually(async () => {
    const { state } = (await api.get(`/api/x/studies/${id}`)).body;
    return state === 'FINISHED';
  });
  return id;
}

/** Has a host wanted whose start fails with a long message. */
async function failStart(token: string): Promise<void> {
  await handIn({ name: 'for a host', scripts: ['1'], labels: 'hosted', token });
  const allocationIn = (state: string) =>
    eventually(async () => {
      const { body } = await new Api(hub, token).get('/api/x/hosts');
      const [recipe] = body['content'] as { allocations: { id: string; state: string }[] }[];
      return recipe?.allocations.find((each) => each.state === state)?.id;
    });
  jobs.fail(await allocationIn('QUEUED'), `${LONG}\n`.repeat(4));
  await allocationIn('ENDED');
}

/** Has an agent that is drained and has left. */
async function drainAndLeave(token: string): Promise<void> {
  const id = 'a-host-that-has-left.simulation.example.com';
  const gone = await FakeAgent.join(hub, { id, instances: [instanceReportOf({ id: 'gone-1' })] });
  const { status, text } = await new Api(hub, token).call('POST', `/api/x/agents/${id}/drain`, {
    json: { reason: LONG },
  });
  expect(status, text).toBeLessThan(300);
  await gone.leave(token);
}

/** Id of a task of a study. */
async function taskOf(token: string, id: string): Promise<string> {
  const { tasks } = (await new Api(hub, token).get(`/api/x/tasks?study=${id}`)).body as {
    tasks: readonly { readonly id: string }[];
  };
  return tasks[0]?.id ?? '';
}

/** Goes to the screen in this language and waits until nothing of it is loading. */
async function open(page: Page, path: string, language: string): Promise<void> {
  await page.evaluate(`localStorage.setItem('workbench-preferences', JSON.stringify({
    ...JSON.parse(localStorage.getItem('workbench-preferences') ?? '{}'), language: '${language}' }))`);
  await page.goto(hub.address + path);
  await page.locator('h1').first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

/** Elements that reach beyond the right side of the window, but for those within something that scrolls or cuts by itself. */
const BEYOND = `(() => {
  const isWithin = (element) => {
    for (let each = element.parentElement; each && each.tagName !== 'MAIN'; each = each.parentElement)
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(each).overflowX)) return true;
    return false;
  };
  return [...document.querySelectorAll('main *, header *, nav *')]
    .filter((element) => element.checkVisibility() && element.getBoundingClientRect().width > 1)
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !isWithin(element))
    .map((element) => element.tagName + '.' + element.className + ' ' + (element.textContent ?? '').slice(0, 40));
})()`;

/** Overflow to the right, each in words: of the page, of its main part, and the elements {@link BEYOND} the window. */
const OVERFLOW = `(() => {
  const root = document.documentElement, main = document.querySelector('main');
  return [
    ...(root.scrollWidth > innerWidth ? ['the page by ' + (root.scrollWidth - innerWidth)] : []),
    ...(main.scrollWidth > main.clientWidth ? ['main by ' + (main.scrollWidth - main.clientWidth)] : []),
    ...${BEYOND},
  ];
})()`;

/** The element with the focus: whether it is visible at its place, and whether it or an element around it has an outline. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (element === document.body || element === null) return undefined;
  const { left, right, top, bottom, width, height } = element.getBoundingClientRect();
  const at = document.elementFromPoint(Math.max(0, Math.min(innerWidth - 1, (left + right) / 2)), (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2);
  const label = element.closest('label');
  const isSeen = at !== null && (element.contains(at) || at.contains(element) || (label?.contains(at) ?? false));
  const hasOutline = [element, label, element.closest('.chip, .tile, .drop, .task-row, .study-row')].some(
    (each) => each && parseFloat(getComputedStyle(each).outlineWidth) > 0 && getComputedStyle(each).outlineStyle !== 'none');
  return { name: element.tagName + ' ' + (element.getAttribute('aria-label') ?? element.textContent ?? '').slice(0, 60), isSeen, hasOutline,
    isTiny: width <= 1 || height <= 1 };
})()`;

/** Element that Tab leads to. What came in live may move it out of the window just then: its focus is then given once more. */
async function focusedByTab(page: Page): Promise<Focused | undefined> {
  await page.keyboard.press('Tab');
  const focused = (await page.evaluate(FOCUSED)) as Focused | undefined;
  if (focused === undefined || focused.isSeen) return focused;
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Tab');
  return (await page.evaluate(FOCUSED)) as Focused | undefined;
}

interface Focused {
  readonly name: string;
  readonly isSeen: boolean;
  readonly hasOutline: boolean;
  readonly isTiny: boolean;
}

/** Presses Tab until it comes round: each element that gets the focus is visible, with an outline. */
async function expectFocusShown(page: Page): Promise<void> {
  const names: string[] = [];
  for (let press = 0; press < 200; press++) {
    const focused = await focusedByTab(page);
    if (focused === undefined || (focused.name.includes('Skip to the content') && press > 0)) break;
    names.push(focused.name);
    expect(focused.isSeen, focused.name).toBe(true);
    expect(focused.hasOutline, focused.name).toBe(true);
  }
  // The way round has begun at the link that skips the navigation, and has led through it.
  expect(names.length).toBeGreaterThan(10);
  expect(names.length).toBeLessThan(200);
}

describe.runIf(hasBrowser)('every screen', () => {
  consoleForAllTests(async () => {
    jobsFolder = await temporaryFolder();
    jobs = new JobTable(jobsFolder.path);
    const max = { allocations: 1, hostHoursPerDay: 400 };
    return { users: USERS, config: { hosts: [jobs.recipe({ name: LONG.slice(0, 39), max })] } };
  });
  afterAll(() => jobsFolder.remove());

  beforeAll(async () => {
    const { accessToken: token } = await logIn(new Api(hub), 'anna');
    const script = `const fs = require('node:fs'); fs.writeFileSync('${LONG}.csv', 'a,b\\n1,2\\n'); fs.writeFileSync('b.txt', 'b'); println('${LONG}')`;
    ended = await handIn({
      name: LONG,
      scripts: [script],
      variables: { [LONG.slice(0, 60).replaceAll('-', '_')]: LONG },
      labels: 'gears',
      token,
    });
    waiting = await handIn({ name: 'for nobody', scripts: ['1'], labels: `${LONG.slice(0, 100)}`, token });
    study = await createStudy(token, `study-${LONG}`);
    point = await taskOf(token, study);
    plotted = await createStudy(token, 'plotted');
    parallel = await createStudy(token, 'on parallel axes');
    await failStart(token);
    agent = await FakeAgent.join(hub, {
      id: 'a-host-with-a-name-that-is-rather-long.simulation.example.com',
      instances: [instanceReportOf({ id: 'lab-1', labels: ['gpu', LONG.slice(0, 60)] })],
    });
    await drainAndLeave(token);
    await eventually(async () => {
      const response = await fetch(`${hub.address}/api/x/tasks/${ended}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return ((await response.json()) as { status: string }).status === 'FINISHED';
    });
    return () => agent.leave(token);
  });

  it.each(SCREENS)(
    'fits, in both languages, from 320 to 2560 pixels, and lets Tab come round: %s',
    async (_, path) => {
      const page = await visitAs('anna', '/tokens');
      for (const language of LANGUAGES) {
        await open(page, path(), language);
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 });
          // Charts follow the window one frame later.
          await expect
            .poll(() => page.evaluate(OVERFLOW), { message: `${language} at ${width}` })
            .toEqual([]);
        }
      }
      await page.setViewportSize({ width: 1280, height: 500 });
      await expectFocusShown(page);
    },
  );

  it('has a title that names it', async () => {
    const page = await visitAs('anna', '/tokens');
    const titles: string[] = [];
    for (const [, path] of SCREENS) {
      await open(page, path(), 'en');
      titles.push(await page.title());
    }
    expect(new Set(titles).size).toBe(SCREENS.length);
    for (const title of titles) expect(title).toMatch(/^.+ · Workbench Hub$/);
    await page.evaluate("history.pushState(null, '', '/nowhere')");
    await expect.poll(() => page.title()).toBe('There is nothing at this address · Workbench Hub');
  });
});
