/** A study while hub and agents are killed: each point ends with exactly one outcome, and with the right one. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64 } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const POINTS = 120;
const HUB_KILLS = 3;
const AGENT_KILLS = 4;
/** One point in so many crashes its instance, and the one after it fails. */
const CRASH_EVERY = 20;
const WORK_MS = 30;
const WITHIN_MS = 200_000;

let folder: TemporaryFolder;
let ledger: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  ledger = join(folder.path, 'ledger');
  appendFileSync(ledger, '');
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** Notes that it runs to its end, but at the points that crash or fail. */
const SCRIPT = `
const { appendFileSync, writeFileSync } = require('node:fs');
setTimeout(() => {
  if (x % ${CRASH_EVERY} === 0) return process.kill(process.ppid, 'SIGKILL');
  if (x % ${CRASH_EVERY} === 1) throw new Error('the solution diverged');
  writeFileSync('result.json', JSON.stringify({ y: 2 * x }));
  appendFileSync(ledger, x + '\\n');
}, ${WORK_MS});
`;

interface Point {
  readonly number: number;
  readonly variables: { readonly x: number };
  readonly outcome?: string;
  readonly cause?: string;
  readonly message?: string;
  readonly values: { readonly y?: number };
}

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly points: Readonly<Record<string, number>>;
}

const outcomeOf = (x: number) =>
  x % CRASH_EVERY === 0 ? 'INFRASTRUCTURE' : x % CRASH_EVERY === 1 ? 'SOLVER_FAILED' : 'FINISHED';

it('gives each point exactly one outcome while hub and agents are killed', { timeout: 240_000 }, async () => {
  const settings = { tasks: { maxAttempts: 1, maxLosses: 100 }, studies: { openPoints: 30 } };
  let hub: HubProgram = await startHub(folder.path, settings);
  const port = Number(new URL(hub.baseUrl).port);
  const start = (id: string) =>
    startAgent(folder.path, hub, id, { instances: [{ id: `${id}-sim`, version: '1', count: 3 }] });
  const agents: Record<string, Program> = { a: start('a'), b: start('b') };
  const body = JSON.stringify({
    name: 'under kills',
    inputScripts: [{ content: base64(SCRIPT) }],
    variablesToInject: [{ key: 'ledger', value: ledger }],
    variables: [{ name: 'x', kind: 'INTEGER' }],
    plan: { kind: 'GRID', levels: [{ variable: 'x', from: 1, to: POINTS, step: 1 }] },
    values: [
      {
        name: 'y',
        source: { kind: 'FILE', path: 'result.json' },
        reader: { kind: 'JSON_PATH', path: '$.y' },
      },
    ],
  });
  const created = await fetch(`${hub.baseUrl}/api/x/studies`, { method: 'POST', body });
  expect(created.status).toBe(201);
  const { id } = (await created.json()) as Shown;
  const study = () => getJson<Shown>(`${hub.baseUrl}/api/x/studies/${id}`);
  const ended = async () => {
    const points = (await study())?.points ?? {};
    return (points['total'] ?? 0) - (points['open'] ?? 0) - (points['waiting'] ?? 0);
  };

  const kills = [...Array(HUB_KILLS).fill('hub'), ...Array(AGENT_KILLS).fill('agent')] as ('hub' | 'agent')[];
  for (const [at, what] of kills.entries()) {
    const from = Math.floor(((at + 1) * POINTS) / (kills.length + 2));
    await eventually(async () => (await ended()) >= from, WITHIN_MS);
    if (what === 'hub') {
      await hub.kill();
      hub = await startHub(folder.path, settings, port);
    } else {
      const name = at % 2 === 0 ? 'a' : 'b';
      await agents[name]?.kill();
      agents[name] = start(name);
    }
  }
  const finished = await eventually(async () => {
    const shown = await study();
    return shown?.state === 'FINISHED' ? shown : undefined;
  }, WITHIN_MS);
  expect(finished.points).toMatchObject({ total: POINTS, waiting: 0, open: 0, CANCELED: 0 });

  const page = await getJson<{ points: Point[] }>(`${hub.baseUrl}/api/x/studies/${id}/points?limit=10000`);
  const points = page?.points ?? [];
  expect(points.map(({ number }) => number)).toEqual(Array.from({ length: POINTS }, (_, index) => index + 1));
  for (const point of points) {
    const { x } = point.variables;
    expect(point, `point ${x}: ${point.message}`).toMatchObject({ number: x, outcome: outcomeOf(x) });
    if (point.outcome === 'INFRASTRUCTURE') expect(point.cause).toBe('CRASH');
    if (point.outcome === 'FINISHED') expect(point.values.y).toBe(2 * x);
  }
  const { totalElements } = (await getJson<{ totalElements: number }>(
    `${hub.baseUrl}/api/2.0/workbench/task/list?size=1`,
  )) ?? { totalElements: 0 };
  expect(totalElements).toBe(POINTS);
  // Only an attempt that was lost with its agent may have run twice.
  const runs = existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [];
  expect(new Set(runs).size).toBe(points.filter(({ outcome }) => outcome === 'FINISHED').length);
});

/** The response, or nothing while the hub is away. */
async function getJson<T>(url: string): Promise<T | undefined> {
  const response = await fetch(url).catch(() => undefined);
  return response?.ok ? ((await response.json()) as T) : undefined;
}
