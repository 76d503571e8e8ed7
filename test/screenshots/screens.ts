/** The screens of the console that are shown, and how to come to what is worth to be seen on them. */
import type { Page } from 'playwright-core';
import type { Stage } from './stage.js';

export interface ScreenToShow {
  /** Name of its pictures. */
  readonly name: string;
  readonly path: (stage: Stage) => string;
  /** Comes from the loaded page to what is shown. */
  readonly show: (page: Page) => Promise<void>;
  /** Before a login. */
  readonly isForStrangers?: true;
  /** Themes in which the documentation shows it; the light one by default. */
  readonly inDocs?: readonly Theme[];
  /** Whether the documentation shows it on a phone, too. */
  readonly onPhoneInDocs?: true;
}

export type Theme = 'light' | 'dark';
export const THEMES: readonly Theme[] = ['light', 'dark'];

const openOutput = (name: string) => async (page: Page) => {
  await page.getByRole('tab', { name: /Outputs/ }).click();
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('region', { name: `Preview: ${name}` }).scrollIntoViewIfNeeded();
};

const part = (name: string, ready: (page: Page) => Promise<void>): ScreenToShow => ({
  name: `administration-${name}`,
  path: () => `/administration/${name}`,
  show: ready,
});

const studyTab = (tab: string, search = ''): ScreenToShow => ({
  name: `study-${tab}`,
  path: ({ study }) => `/studies/${study}?tab=${tab}&${search}`,
  show: async (page) => {
    await page.getByRole('tabpanel').waitFor();
    await page.getByRole('region', { name: 'Best so far' }).waitFor();
  },
});

export const SCREENS: readonly ScreenToShow[] = [
  {
    name: 'log-in',
    path: () => '/',
    show: (page) => page.getByRole('button', { name: 'Log in' }).waitFor(),
    isForStrangers: true,
  },
  {
    name: 'overview',
    path: () => '/',
    show: async (page) => {
      await page.getByText('instances busy').waitFor();
      await page.getByRole('button', { name: '24 h' }).click();
      await page.locator('.hosts > li').first().waitFor();
    },
    inDocs: ['light', 'dark'],
    onPhoneInDocs: true,
  },
  {
    name: 'tasks',
    path: () => '/tasks',
    show: (page) => page.locator('.task-row[data-index]').first().waitFor(),
  },
  {
    name: 'tasks-cancel-all',
    path: () => '/tasks?name=wing&status=WAITING',
    show: async (page) => {
      await page.getByRole('button', { name: 'Cancel all' }).click();
      await page.getByText('Tasks to be canceled').waitFor();
    },
  },
  {
    name: 'tasks-none',
    path: () => '/tasks?name=unheard',
    show: (page) => page.getByText('No task matches').waitFor(),
    inDocs: [],
  },
  {
    name: 'task-running',
    path: ({ tasks }) => `/tasks/${tasks.running}`,
    show: (page) => page.locator('.log-line').nth(20).waitFor(),
    inDocs: ['light', 'dark'],
    onPhoneInDocs: true,
  },
  {
    name: 'task-failed',
    path: ({ tasks }) => `/tasks/${tasks.failed}`,
    show: (page) => page.locator('.log-line').nth(20).waitFor(),
  },
  {
    name: 'task-waiting',
    path: ({ tasks }) => `/tasks/${tasks.waiting}`,
    show: (page) => page.getByRole('heading', { name: 'Why it waits' }).waitFor(),
  },
  {
    name: 'task-inputs',
    path: ({ tasks }) => `/tasks/${tasks.plots}`,
    show: async (page) => {
      await page.getByRole('tab', { name: /Inputs/ }).click();
      await page.locator('.plain-table').first().waitFor();
    },
  },
  {
    name: 'task-plot',
    path: ({ tasks }) => `/tasks/${tasks.plots}`,
    show: async (page) => {
      await openOutput('motion.csv')(page);
      await page.getByRole('button', { name: 'Plot' }).click();
      await page.locator('.preview canvas').first().waitFor();
    },
  },
  {
    name: 'task-table',
    path: ({ tasks }) => `/tasks/${tasks.plots}`,
    show: openOutput('energy-balance.csv'),
  },
  {
    name: 'task-picture',
    path: ({ tasks }) => `/tasks/${tasks.plots}`,
    show: async (page) => {
      await openOutput('motion.svg')(page);
      await page.getByRole('img', { name: 'motion.svg' }).waitFor();
    },
  },
  {
    name: 'task-solid',
    path: ({ tasks }) => `/tasks/${tasks.solid}`,
    show: async (page) => {
      await openOutput('gear.stl')(page);
      await page.getByText('triangles').waitFor();
    },
  },
  {
    name: 'new-job',
    path: () => '/new',
    show: (page) => page.locator('.answer-verdict').waitFor(),
  },
  {
    name: 'new-job-again',
    path: ({ tasks }) => `/new?from=${tasks.plots}`,
    show: async (page) => {
      await page.getByLabel('Value 1').waitFor();
      await page.locator('.answer-verdict').waitFor();
    },
    onPhoneInDocs: true,
  },
  {
    name: 'studies',
    path: () => '/studies',
    show: (page) => page.getByRole('progressbar').first().waitFor(),
  },
  {
    name: 'new-study',
    path: ({ tasks }) => `/studies/new?from=${tasks.plots}`,
    show: async (page) => {
      await page.getByRole('checkbox', { name: /^crankSpeedRpm/ }).check();
      await page.locator('.answer-verdict').waitFor();
    },
    onPhoneInDocs: true,
  },
  {
    name: 'study',
    path: ({ study }) => `/studies/${study}?sort=values.stress`,
    show: (page) => page.locator('.study-space > .study-row').nth(8).waitFor(),
  },
  studyTab('compare', 'chosen=5,14,24'),
  studyTab('plot', 'x=variables.load_Nm'),
  studyTab('parallel'),
  studyTab('correlation', 'correlation=spearman'),
  studyTab('failures'),
  {
    name: 'instances',
    path: () => '/instances',
    show: (page) => page.getByRole('row').nth(3).waitFor(),
  },
  {
    name: 'instance',
    path: () => '/instances/multibody-1',
    show: (page) => page.locator('.log-line').first().waitFor(),
  },
  {
    name: 'hosts',
    path: () => '/hosts',
    show: async (page) => {
      await page.getByText('Works').waitFor();
      await page.getByText('Queued').waitFor();
    },
    inDocs: ['light', 'dark'],
  },
  {
    name: 'storage',
    path: () => '/storage',
    show: (page) => page.getByRole('row').nth(2).waitFor(),
  },
  {
    name: 'tokens',
    path: () => '/tokens',
    show: (page) => page.getByRole('heading', { name: 'Access tokens' }).waitFor(),
  },
  part('agents', (page) => page.getByRole('row').nth(2).waitFor()),
  {
    // Without the refreshes of these pictures themselves.
    ...part('audit', (page) => page.getByRole('row').nth(5).waitFor()),
    path: () => '/administration/audit?user=bela',
  },
  part('hubs', (page) => page.getByText('Schedules').waitFor()),
  part('server', (page) => page.getByRole('meter', { name: 'Memory' }).waitFor()),
  part('log', (page) => page.locator('.log-line').first().waitFor()),
  part('shutdown', (page) => page.getByRole('button', { name: 'Prepare a shutdown' }).waitFor()),
  {
    name: 'commands',
    path: () => '/tasks',
    show: async (page) => {
      await page.locator('.task-row[data-index]').first().waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
    },
  },
];
