/** The page of a study of 10,000 points, and of one of 100,000. */
import { join } from 'node:path';
import type { NewStudy } from '@workbench-hub/hub/core/studies/study';
import { openSqliteStore } from '@workbench-hub/hub/store/sqlite/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { startHub } from '../../support/programs/programs.js';
import { seededRandom } from '../../support/random.js';
import type { Sample } from '../workload.js';
import { type ConsolePart, type ConsoleStage, VIEWPORT } from './console-part.js';

/** Numbers of points, with the time after which their page is to be usable. */
const SIZES = [
  { pointCount: 10_000, limitMs: 1000 },
  { pointCount: 100_000, limitMs: 2000 },
] as const;
const WRITTEN_AT_A_TIME = 1000;
const HALVES = ['lower', 'upper'] as const;

export const largeStudy: ConsolePart = { name: 'study', measure };

async function measure({ browser, folder, scale, seed, say, watch }: ConsoleStage): Promise<Sample[]> {
  const sizes = SIZES.map(({ pointCount, limitMs }) => ({
    ...{ id: systemRuntime.newId(), limitMs },
    pointCount: Math.max(10, Math.ceil(pointCount * scale)),
  }));
  for (const size of sizes) {
    say(`console: study: writing ${size.pointCount} points`);
    await writeStudy(join(folder, 'hub', 'hub.sqlite'), size, seed);
  }
  const hub = await startHub(folder);
  watch(hub.process.pid ?? 0);
  try {
    const samples: Sample[] = [];
    for (const { id, pointCount, limitMs } of sizes) {
      const context = await browser.newContext({ viewport: VIEWPORT, locale: 'en-GB' });
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      // Has the programs of the page loaded.
      await page.goto(`${hub.baseUrl}/studies`);
      await page.getByRole('heading', { name: 'Studies', level: 1 }).waitFor();
      const name = `${pointCount} points`;
      const times = await timesOf(page, `${hub.baseUrl}/studies/${id}`, pointCount);
      samples.push(
        { name: `${name}: first rows`, value: times.rowsMs, unit: 'ms', limit: limitMs },
        { name: `${name}: all of them`, value: times.allMs, unit: 'ms' },
        { name: `${name}: plot`, value: times.plotMs, unit: 'ms', limit: limitMs },
        { name: `${name}: parallel axes`, value: times.parallelMs, unit: 'ms', limit: limitMs },
      );
      await context.close();
    }
    return samples;
  } finally {
    await hub.stop();
  }
}

/** Times from the beginning of the navigation, or from the press of a tab. */
async function timesOf(page: Page, url: string, pointCount: number) {
  await page.goto(url, { waitUntil: 'commit' });
  const sinceStart = async (selector: string): Promise<number> => {
    await page.locator(selector).first().waitFor();
    return page.evaluate('new Promise((end) => requestAnimationFrame(() => end(performance.now())))');
  };
  const rowsMs = await sinceStart('.study-space .study-link');
  const allMs = await sinceStart(`.study-table[aria-rowcount="${pointCount + 1}"]`);
  const pressed = async (tab: string, selector: string) => {
    const fromMs = (await page.evaluate('performance.now()')) as number;
    await page.getByRole('tab', { name: tab }).click();
    return (await sinceStart(selector)) - fromMs;
  };
  const plotMs = await pressed('Plot', '.study-dots');
  const parallelMs = await pressed('Parallel', '[role="img"][aria-label^="Parallel"]');
  return { rowsMs, allMs, plotMs, parallelMs };
}

/** Writes a finished study, whose values are random. */
async function writeStudy(
  file: string,
  { id, pointCount }: { readonly id: string; readonly pointCount: number },
  seed: number,
): Promise<void> {
  const random = seededRandom(seed);
  const nowMs = Date.now();
  const store = openSqliteStore(file, systemRuntime.timers, pino({ level: 'silent' }));
  try {
    await store.studies.create(finishedStudy(id, pointCount, nowMs));
    for (let begun = 0; begun < pointCount; begun += WRITTEN_AT_A_TIME) {
      const count = Math.min(WRITTEN_AT_A_TIME, pointCount - begun);
      const points = Array.from({ length: count }, () => {
        const [load, speed] = [random.next(), random.next()];
        const values = HALVES.map((_, at) => ({ kind: 'NUMBER' as const, value: load ** (at + 1) * speed }));
        const times = { startedAtMs: nowMs, endedAtMs: nowMs };
        const end = {
          outcome: 'FINISHED' as const,
          cause: null,
          message: null,
          values,
          source: null,
          ...times,
        };
        return { variables: [load, speed], bundle: null, notReused: null, end };
      });
      await store.studies.begin(id, begun, points);
    }
    await store.studies.finish(id, 0, nowMs);
  } finally {
    await store.close();
  }
}

function finishedStudy(id: string, pointCount: number, nowMs: number): NewStudy {
  const variable = { kind: 'NUMBER', unit: null, lower: 0, upper: 1, scale: 'LINEAR' } as const;
  return {
    ...{ id, name: 'bearing', note: null, creator: null, state: 'RUNNING', message: null, notify: null },
    key: null,
    ...{ createdAtMs: nowMs, runningSinceMs: nowMs, endedAtMs: null },
    ...{ pointCount, begunCount: 0, retryCount: 0, isOpen: false },
    definition: {
      ...{ classifiers: [], timeLimitS: null, success: [], reuse: false, bundle: false },
      ...{ stopAfterFailures: null, stopAfterS: null, stopWhen: [] },
      job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [], additionalFiles: [], variables: [] },
      variables: [
        { ...variable, name: 'load' },
        { ...variable, name: 'speed' },
      ],
      values: HALVES.map((name) => ({
        ...{ name, unit: null, kind: 'NUMBER' },
        ...{ source: { kind: 'LOG' }, reader: { kind: 'REGULAR_EXPRESSION', pattern: '.', take: 'FIRST' } },
      })),
    },
    plan: { kind: 'SOBOL', count: pointCount, seed: 1 },
  };
}
