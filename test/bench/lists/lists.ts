/** Lists on a grown store, over HTTP, one after the other; meanwhile another client reads single tasks. */
import { join } from 'node:path';
import type { SqliteDatabase } from '@workbench-hub/hub/store/sqlite/database';
import { LIST_STATEMENTS } from '@workbench-hub/hub/store/sqlite/lists/list-reader';
import { SEGMENT_STATEMENTS } from '@workbench-hub/hub/store/sqlite/lists/segment-rows';
import { Pool } from 'undici';
import { startHub } from '../../support/programs.js';
import { quantile } from '../figures.js';
import { cpuSeconds, peakRssMib, rssMib } from '../machine.js';
import type { ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';
import { fillStore } from './fill-store.js';
import { LIST_CASES, nameOf } from './list-cases.js';

const ENDED = 1_000_000;
const WAITING = 100_000;
const RUNNING = 16;

/** Requests of each list in a run; the median counts. */
const REPEATS = 5;

/** More filters than the hub remembers. */
const OTHER_FILTERS = 40;

const READ_EVERY_MS = 2;

const LISTS = '/api/2.0/workbench/task/list';

interface ListBody {
  readonly content: readonly { readonly id: string }[];
  readonly totalElements: number;
}

export const lists: Workload = {
  name: 'lists',
  what: 'lists with every filter on a store of 1,000,000 ended and 100,000 waiting tasks',
  prepare,
};

async function prepare({ folder, seed, scale, plans, say }: WorkloadOptions): Promise<ReadyWorkload> {
  const size = { ended: Math.ceil(ENDED * scale), waiting: Math.ceil(WAITING * scale), running: RUNNING };
  say(`lists: writing ${size.ended + size.waiting + size.running} tasks`);
  const db = fillStore(join(folder, 'hub', 'hub.sqlite'), size, seed);
  if (plans) for (const line of queryPlans(db)) say(line);
  const bareScanMs = quantile(
    Array.from({ length: REPEATS }, () => timedMs(() => bareScan(db))),
    0.5,
  );
  db.close();

  const hub = await startHub(folder);
  const pid = hub.process.pid ?? 0;
  const pool = new Pool(hub.baseUrl, { connections: 2 });
  const get = async (path: string) => {
    const { statusCode, body } = await pool.request({ method: 'GET', path });
    if (statusCode !== 200) throw new Error(`GET ${path} answered ${statusCode}: ${await body.text()}`);
    return body.text();
  };
  const first = performance.now();
  const { content } = JSON.parse(await get(LISTS)) as ListBody;
  const firstMs = performance.now() - first;
  say(`lists: the first list after the start came after ${(firstMs / 1000).toFixed(1)} s`);
  const oneTask = `/api/2.0/workbench/task/${content[0]?.id}`;

  return {
    measure: async () => {
      const reading = readMeanwhile(() => get(oneTask));
      const samples = await measureLists(get);
      const readMs = await reading.stop();
      const slowestMs = Math.max(...samples.map(({ value }) => value));
      return [
        ...samples,
        { name: 'one task meanwhile, median', value: quantile(readMs, 0.5), unit: 'ms' },
        { name: 'one task meanwhile, 99 of 100', value: quantile(readMs, 0.99), unit: 'ms' },
        {
          name: 'slowest list to a bare scan of the ids by SQLite',
          value: slowestMs / bareScanMs,
          unit: 'times',
        },
        { name: 'bare scan of the ids by SQLite', value: bareScanMs, unit: 'ms' },
        { name: 'memory of the hub', value: rssMib(pid), unit: 'MiB' },
      ];
    },
    use: () => [{ name: 'hub', cpuS: cpuSeconds(pid), peakRssMib: peakRssMib(pid) }],
    end: async () => {
      await pool.destroy();
      await hub.stop();
    },
  };
}

/** All lists in turn, each twice: once after so many other requests that the hub does not remember the results of its filter,
 *  and again at once. */
async function measureLists(get: (path: string) => Promise<string>): Promise<Sample[]> {
  const measured = LIST_CASES.map((each) => ({
    each,
    first: [] as number[],
    again: [] as number[],
    total: 0,
  }));
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    for (let other = 0; other < OTHER_FILTERS; other++) await get(`${LISTS}?name=*other%20${other}*`);
    for (const one of measured) {
      for (const times of [one.first, one.again]) {
        const began = performance.now();
        const text = await get(one.each.path);
        times.push(performance.now() - began);
        one.total = (JSON.parse(text) as ListBody).totalElements;
      }
    }
  }
  const slowestAgainMs = Math.max(...measured.map(({ again }) => quantile(again, 0.5)));
  return [
    ...measured.map(({ each, first, total }): Sample => {
      const name = `${nameOf(each)} (${total})`;
      return { name, value: quantile(first, 0.5), unit: 'ms', limit: each.limitMs };
    }),
    { name: 'slowest of these lists, asked for again at once', value: slowestAgainMs, unit: 'ms' },
  ];
}

/** Calls repeatedly, at intervals; `stop` returns the duration of each call. */
function readMeanwhile(call: () => Promise<unknown>): { stop(): Promise<number[]> } {
  const times: number[] = [];
  let stopped = false;
  const loop = (async () => {
    while (!stopped) {
      const began = performance.now();
      await call();
      times.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS));
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await loop;
      return times;
    },
  };
}

/** Shortest time in which SQLite compares each identifier with a pattern. */
function bareScan(db: SqliteDatabase): void {
  db.prepare('SELECT count(*) FROM task WHERE id GLOB ?').get('*abc*');
}

function queryPlans(db: SqliteDatabase): string[] {
  return Object.entries({ ...SEGMENT_STATEMENTS, ...LIST_STATEMENTS }).flatMap(([name, sql]) => {
    const parameters = Array.from({ length: sql.split('?').length - 1 }, () => null);
    const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
    const statement = sql.replaceAll(/\s+/g, ' ').trim();
    return [`query plan of ${name}: ${statement}`, ...steps.map(({ detail }) => `  ${detail}`)];
  });
}

function timedMs(work: () => void): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
