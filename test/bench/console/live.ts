/** A hub on which 100 tasks end a second: how late the page shows it, how it responds meanwhile, and what it keeps. */
import type { CDPSession, Page } from 'playwright-core';
import { quantile } from '../figures.js';
import { startHub } from '../subjects/hub.js';
import type { Sample } from '../workload.js';
import { type ConsolePart, type ConsoleStage, VIEWPORT } from './console-part.js';
import { createTask, type EndedTask, endedTasks, endOf } from './tasks.js';

const ENDS_PER_S = 100;
/** Ten minutes. */
const ENDS = 60_000;
/** Tasks run long enough to be seen while they run. */
const DURATION_S = 1;
const SLOTS = 160;
/** As few as are measured in a small trial. */
const LEAST_ENDS = 300;
const WARM_UP_MS = 3000;
const INTERACTION_MS = 20_000;
const CREATE_EVERY_MS = 50;
/** Requests at a time; more than these wait where a machine is too slow for the rate. */
const MOST_AT_ONCE = 100;
const TAKE_EVERY_MS = 10_000;

const PIXEL_LIMIT_MS = 1000;
const INTERACTION_LIMIT_MS = 200;
const HEAP_LIMIT_MIB = 20;
const MIB = 1024 * 1024;

export const live: ConsolePart = { name: 'live', measure };

interface Seen {
  /** Time at which a running row was shown as finished, by task. */
  readonly rows: Readonly<Record<string, number>>;
  /** Times at which another number of finished tasks was shown, with the number. */
  readonly counts: readonly (readonly [number, number])[];
}

async function measure(stage: ConsoleStage): Promise<Sample[]> {
  const scale = Math.min(1, stage.scale);
  const ends = Math.max(LEAST_ENDS, Math.ceil(ENDS * scale));
  const hub = await startHub({ folder: stage.folder, slots: SLOTS, paused: false });
  stage.watch(hub.hub.pid);
  const address = `http://127.0.0.1:${hub.port}`;
  // A little longer than is measured, so that nothing is measured at rest.
  const creation = createAtRate(address);
  try {
    const context = await stage.browser.newContext({ viewport: VIEWPORT, locale: 'en-GB' });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await page.goto(`${address}/tasks`);
    await page.locator('.task-row[data-index]').first().waitFor();
    await page.waitForTimeout(WARM_UP_MS * Math.max(scale, 0.5));
    await page.evaluate(`(${SCROLL_TO_ENDING})(document.querySelector('.task-scroller'))`);
    await page.evaluate(WATCH);
    const heapBefore = await heapBytes(session);
    const seen = await look(page, (ends / ENDS_PER_S) * 1000);
    const heapAfter = await heapBytes(session);
    const interactionMs = await interact(page, INTERACTION_MS * Math.max(scale, 0.1));
    await creation.stop();
    await endOf(address, creation.last());
    return samplesOf(seen, await endedTasks(address), interactionMs, (heapAfter - heapBefore) / MIB);
  } finally {
    await creation.stop();
    await hub.stop();
  }
}

function samplesOf(
  { rows, counts }: Seen,
  ended: readonly EndedTask[],
  interactionMs: number,
  heapMib: number,
): Sample[] {
  const endMs = new Map(ended.map(({ id, endedAtMs }) => [id, endedAtMs]));
  const rowsMs = Object.entries(rows).flatMap(([id, shownMs]) => {
    const at = endMs.get(id);
    return at === undefined ? [] : [shownMs - at];
  });
  const countsMs = lateness(counts, ended);
  return [
    { name: 'end to the row on the screen, median', value: quantile(rowsMs, 0.5), unit: 'ms' },
    { name: 'the same, 95 of 100', value: quantile(rowsMs, 0.95), unit: 'ms', limit: PIXEL_LIMIT_MS },
    { name: 'end to the number on the screen, median', value: quantile(countsMs, 0.5), unit: 'ms' },
    { name: 'number, 95 of 100', value: quantile(countsMs, 0.95), unit: 'ms', limit: PIXEL_LIMIT_MS },
    { name: 'slowest interaction', value: interactionMs, unit: 'ms', limit: INTERACTION_LIMIT_MS },
    { name: 'heap more than before', value: heapMib, unit: 'MiB', limit: HEAP_LIMIT_MIB },
  ];
}

/** Time from each end to the first number that includes it. */
function lateness(counts: Seen['counts'], ended: readonly EndedTask[]): number[] {
  const times = ended.map(({ endedAtMs }) => endedAtMs).sort((a, b) => a - b);
  const late: number[] = [];
  let shown = counts[0]?.[1] ?? 0;
  for (const [atMs, count] of counts.slice(1)) {
    for (; shown < count; shown++) late.push(atMs - (times[shown] ?? Number.NaN));
  }
  return late;
}

/** Looks for this time. What the page has noted is taken out of it now and then, so that its heap is that of the console. */
async function look(page: Page, durationMs: number): Promise<Seen> {
  const seen = { rows: {} as Record<string, number>, counts: [] as [number, number][] };
  const until = performance.now() + durationMs;
  for (let isLast = false; !isLast; ) {
    const leftMs = until - performance.now();
    isLast = leftMs <= TAKE_EVERY_MS;
    await page.waitForTimeout(Math.max(0, Math.min(leftMs, TAKE_EVERY_MS)));
    const taken = (await page.evaluate('seen.take()')) as typeof seen;
    Object.assign(seen.rows, taken.rows);
    seen.counts.push(...taken.counts);
  }
  return seen;
}

interface Creation {
  /** Id of the latest task. */
  last(): string;
  stop(): Promise<void>;
}

/** Creates as many tasks a second as are to end, as far as the machine can, until it is stopped. */
function createAtRate(address: string): Creation {
  let isStopped = false;
  let last = '';
  const loop = (async () => {
    const began = performance.now();
    for (let created = 0; !isStopped; ) {
      const due = Math.floor(((performance.now() - began) / 1000) * ENDS_PER_S);
      const count = Math.min(due - created, MOST_AT_ONCE);
      const names = Array.from({ length: count }, (_, at) => `live ${created + at}`);
      const ids = await Promise.all(names.map((name) => createTask(address, name, DURATION_S)));
      last = ids.at(-1) ?? last;
      created += count;
      await new Promise((resolve) => setTimeout(resolve, CREATE_EVERY_MS));
    }
  })();
  // A failure is that of the caller of `stop`.
  loop.catch(() => undefined);
  return {
    last: () => last,
    stop: () => {
      isStopped = true;
      return loop;
    },
  };
}

/** Presses, types and opens for this time; returns the slowest response to the next frame. */
async function interact(page: Page, durationMs: number): Promise<number> {
  const until = performance.now() + durationMs;
  do {
    await page.getByRole('button', { name: /^Running/ }).click();
    await page.waitForTimeout(300);
    await page.getByRole('button', { name: /^All/ }).click();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('searchbox', { name: 'Name' }).pressSequentially('live 1', { delay: 50 });
    await page.waitForTimeout(500);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.waitForTimeout(300);
  } while (performance.now() < until);
  return (await page.evaluate('seen.slowestMs')) as number;
}

async function heapBytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

/** Shows the rows whose tasks began a moment ago, since the newest tasks end when they are out of sight. */
const SCROLL_TO_ENDING = `(scroller) => {
  const { offsetHeight } = scroller.querySelector('.task-row[data-index]');
  scroller.scrollTop = offsetHeight * ${ENDS_PER_S * DURATION_S};
}`;

/** Looks at the list in each frame. The time is the wall clock's, as that of the hub, which runs on the same machine. */
const WATCH = `
  window.seen = {
    running: new Set(),
    rows: {},
    counts: [],
    count: -1,
    slowestMs: 0,
    take() {
      const { rows, counts } = this;
      this.rows = {};
      this.counts = [];
      return { rows, counts };
    },
    look() {
      // Filters change the numbers and the rows.
      if (location.search !== '') return;
      const now = Date.now();
      const running = new Set();
      for (const row of document.querySelectorAll('.task-row[data-index]')) {
        const id = row.querySelector('a').getAttribute('href').split('/').at(-1);
        if (row.classList.contains('of-running')) running.add(id);
        else if (this.running.has(id)) this.rows[id] = now;
      }
      this.running = running;
      const text = document.querySelector('.pill.of-finished strong').textContent;
      const count = Number(text.replaceAll(/\\D/g, ''));
      if (count > this.count) this.counts.push([now, count]);
      this.count = Math.max(this.count, count);
    },
  };
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId > 0) seen.slowestMs = Math.max(seen.slowestMs, duration);
  }).observe({ type: 'event', durationThreshold: 16 });
  const look = () => {
    seen.look();
    requestAnimationFrame(look);
  };
  look();
`;
