/** Lists on a grown store, over HTTP, one after the other; meanwhile another client reads single tasks. */
import { Pool } from 'undici';
import { startHub } from '../../support/programs/programs.js';
import { quantile } from '../figures.js';
import { rssMib, treeUse, usesOf } from '../machine.js';
import { missingPostgres } from '../subjects/postgres.js';
import type { ProcessUse, ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';
import { type ListCase, type ListLimits, listCases, nameOf } from './list-cases.js';
import { type ListStore, type OpenListStore, onPostgres, onSqlite } from './list-stores.js';

const ENDED = 1_000_000;
const WAITING = 100_000;
const RUNNING = 16;

/** Requests of each list in a run of full size; the time in which 9 of 10 are answered counts. */
const REPEATS = 10;

/** More filters than the hub remembers. */
const OTHER_FILTERS = 72;

const READ_EVERY_MS = 2;

const LISTS = '/api/2.0/workbench/task/list';

interface ListBody {
  readonly content: readonly { readonly id: string }[];
  readonly totalElements: number;
}

interface ListSetup {
  readonly open: OpenListStore;
  readonly missing?: () => string | undefined;
  readonly limits: ListLimits;
  /** Whether the hub remembers the results of filters. */
  readonly remembers: boolean;
}

const LIMITS: ListLimits = { firstPageMs: 200, textFilterMs: 200, farPageMs: 200 };

export const lists = listWorkload({
  open: onSqlite,
  limits: LIMITS,
  remembers: true,
});

export const listsOnPostgres = listWorkload({
  open: onPostgres,
  missing: missingPostgres,
  limits: LIMITS,
  remembers: false,
});

function listWorkload(setup: ListSetup): Workload {
  return {
    name: 'lists',
    what: 'lists with every filter on a store of 1,000,000 ended and 100,000 waiting tasks',
    prepare: (options) => prepare(setup, options),
  };
}

async function prepare(
  { open, missing, limits, remembers }: ListSetup,
  { folder, seed, scale, plans, say }: WorkloadOptions,
): Promise<ReadyWorkload> {
  const reason = missing?.();
  if (reason !== undefined) return notMeasured(reason);
  const size = { ended: Math.ceil(ENDED * scale), waiting: Math.ceil(WAITING * scale), running: RUNNING };
  const total = size.ended + size.waiting + size.running;
  say(`lists: writing ${total} tasks`);
  const store = await open(folder, size, seed);
  if (plans) for (const line of store.plans) say(line);

  const hub = await startHub(folder, store.settings);
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
  const cases = listCases(limits, total, size.waiting);

  return {
    measure: async () => {
      const reading = readMeanwhile(() => get(oneTask));
      const repeats = Math.max(1, Math.ceil(REPEATS * Math.min(1, scale)));
      const samples = await measureLists(cases, { repeats, others: remembers ? OTHER_FILTERS : 0 }, get);
      const readMs = await reading.stop();
      const slowestMs = Math.max(...samples.map(({ value }) => value));
      const all: Sample[] = [
        ...samples,
        { name: 'one task meanwhile, median', value: quantile(readMs, 0.5), unit: 'ms' },
        { name: 'one task meanwhile, 99 of 100', value: quantile(readMs, 0.99), unit: 'ms' },
        {
          name: 'slowest list to a bare scan of the ids by the database',
          value: slowestMs / store.bareScanMs,
          unit: 'times',
        },
        { name: 'bare scan of the ids by the database', value: store.bareScanMs, unit: 'ms' },
        { name: 'memory of the hub', value: rssMib(pid), unit: 'MiB' },
      ];
      return { samples: all, processes: [...usesOf([['hub', pid]]), ...serverUse(store)] };
    },
    end: async () => {
      await pool.destroy();
      await hub.stop();
      await store.end();
    },
  };
}

function notMeasured(reason: string): ReadyWorkload {
  return { measure: async () => ({ samples: [], processes: [] }), skipped: () => [reason] };
}

function serverUse({ serverPid }: ListStore): ProcessUse[] {
  if (serverPid === undefined) return [];
  const { beneath } = treeUse(serverPid);
  return beneath ? [{ ...beneath, name: 'processes of postgres' }] : [];
}

/** All lists in turn, each twice: once after so many other requests that the hub does not remember the results of its filter,
 *  and again at once. */
async function measureLists(
  cases: readonly ListCase[],
  { repeats, others }: { readonly repeats: number; readonly others: number },
  get: (path: string) => Promise<string>,
): Promise<Sample[]> {
  const measured = cases.map((each) => ({
    each,
    first: [] as number[],
    again: [] as number[],
    total: 0,
  }));
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (let other = 0; other < others; other++) await get(`${LISTS}?name=*other%20${other}*`);
    for (const one of measured) {
      for (const times of [one.first, one.again]) {
        const began = performance.now();
        const text = await get(one.each.path);
        times.push(performance.now() - began);
        one.total = (JSON.parse(text) as ListBody).totalElements;
      }
    }
  }
  const slowestAgainMs = Math.max(...measured.map(({ again }) => quantile(again, 0.9)));
  return [
    ...measured.map(({ each, first, total }): Sample => {
      const name = `${nameOf(each)} (${total})`;
      return { name, value: quantile(first, 0.9), unit: 'ms', limit: each.limitMs };
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
