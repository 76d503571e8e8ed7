/** Every command of `wb` on a terminal, in a pipe and with `--json`; and the session that clients.md shows. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { jsonSchemaCheck } from '../support/interface/openapi-check.js';
import type { OpenApiDocument } from '../support/interface/openapi-document.js';
import { restClient } from '../support/interface/rest-client.js';
import { codeBlock } from '../support/pages/code-blocks.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { callWb, endCalls, hasTerminals } from '../support/programs/wb.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const PAGE = 'packages/docs/clients.md';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODES = ['pipe', 'json', ...(hasTerminals() ? (['terminal'] as const) : [])] as const;
type Mode = (typeof MODES)[number];
const TASK = ['paths', '/api/x/tasks/{id}', 'get', 'responses', '200'];
const STUDY = ['paths', '/api/x/studies/{id}', 'get', 'responses', '200'];
const BULK = ['paths', '/api/x/tasks/cancel', 'post', 'responses', '200'];
const INSTANCE = ['paths', '/api/2.0/workbench/node/instance/{id}', 'get', 'responses', '200'];
/** Recipe of hosts that no task asks for. */
const HOSTS = {
  name: 'belts',
  manager: { kind: 'command', submit: ['false'], list: ['false'], cancel: ['false'] },
  folder: '/nonexistent',
  agent: { hub: 'ws://127.0.0.1:9', instances: [{ id: 'belt', version: '7' }] },
};
const RECIPES = ['paths', '/api/x/hosts', 'get', 'responses', '200'];
const AGENT = ['paths', '/api/x/agents/{id}', 'get', 'responses', '200'];

let folder: TemporaryFolder;
let hub: HubProgram;
let document: OpenApiDocument;
/** Ids of tasks and of invalidations by what they are for, one for each mode. */
const ids: Record<'ended' | 'waiting' | 'deleted' | 'invalidation', Record<Mode, string>> = {
  ended: { pipe: '', json: '', terminal: '' },
  waiting: { pipe: '', json: '', terminal: '' },
  deleted: { pipe: '', json: '', terminal: '' },
  invalidation: { pipe: '', json: '', terminal: '' },
};
let storedName = '';

beforeAll(async () => {
  folder = await temporaryFolder();
  mkdirSync(join(folder.path, 'bin'));
  symlinkSync(join(ROOT, 'packages/cli/bin/wb.js'), join(folder.path, 'bin/wb'));
  // No browser is opened.
  writeFileSync(join(folder.path, 'bin/xdg-open'), '#!/bin/sh\n', { mode: 0o700 });
  writeFileSync(
    join(folder.path, 'quick.js'),
    "println('it ran'); require('node:fs').writeFileSync('a.txt', '1')",
  );
  writeFileSync(
    join(folder.path, 'store.js'),
    "require('node:fs').writeFileSync(process.env.WORKBENCH_OUTPUT_STORAGE + '/kept.txt', 'kept')",
  );
  hub = await startHub(folder.path, {
    storage: { input: { enabled: true }, output: { enabled: true } },
    instances: [{ id: 'sim', version: '9.1.0', labels: ['gears'] }],
    hosts: [HOSTS],
  });
  await hub.logged(({ msg }) => String(msg).startsWith('up: '));
  for (const mode of ['pipe', 'json', 'terminal'] as const) {
    const added = await fetch(`${hub.baseUrl}/api/x/invalidations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'REVISION', version: '9.1.0', revision: mode }),
    });
    ids.invalidation[mode] = ((await added.json()) as { id: string }).id;
  }
  document = (await (await fetch(`${hub.baseUrl}/openapi.json`)).json()) as OpenApiDocument;
});
afterEach(() => endCalls());
afterAll(async () => {
  await endPrograms();
  await folder.remove();
});

const env = () => ({ PATH: `${join(folder.path, 'bin')}${delimiter}${process.env['PATH']}` });

function start(mode: Mode, args: readonly string[], stdin?: string) {
  return callWb(folder.path, hub.baseUrl, [...args, ...(mode === 'json' ? ['--json'] : [])], {
    env: env(),
    onTerminal: mode === 'terminal',
    ...(stdin === undefined ? {} : { stdin }),
  });
}

interface Row {
  readonly command: string;
  readonly args: (mode: Mode) => readonly string[];
  /** Its standard output for people; on a terminal, standard error as well. */
  readonly text: RegExp;
  readonly json: (value: never) => unknown;
  readonly code?: number;
}

/** Checks a value against the interface: the JSON of `wb` is what the hub sends. */
function valid(pointer: readonly string[]) {
  return (value: unknown) => expect(jsonSchemaCheck(document, pointer)(value)).toEqual([]);
}

const each = (check: (value: unknown) => unknown) => (values: readonly unknown[]) => {
  expect(values.length).toBeGreaterThan(0);
  for (const value of values) check(value);
};

const COUNTS = { WAITING: 0, RUNNING: 0, FINISHED: 0, FAILED: 0, CANCELED: 0 };
const validTasks = (tasks: unknown) =>
  valid(['paths', '/api/x/tasks', 'get', 'responses', '200'])({
    tasks,
    total: 0,
    counts: COUNTS,
    cursor: 'a.1',
  });
/** A task with the files that were saved. */
function validTask({ saved, ...task }: { saved: readonly string[] }) {
  expect(saved).toBeInstanceOf(Array);
  valid(TASK)(task);
}
/** Recipes, as the page of the interface has them. */
function validRecipes(recipes: readonly unknown[]) {
  expect(recipes).toHaveLength(1);
  const counts = { pageSize: 500, pageNumber: 0, totalElements: 1, totalPages: 1, size: 1 };
  valid(RECIPES)({ content: recipes, ...counts, first: true, last: true });
}
const equal = (expected: unknown) => (value: unknown) => expect(value).toEqual(expected);

const ROWS: readonly Row[] = [
  row(
    'login',
    (mode) => [hub.baseUrl, '--profile', mode],
    /^Logged in to \S+, profile \w+\.$/m,
    (value) => equal({ profile: 'json', url: hub.baseUrl })(value),
  ),
  row(
    'profiles',
    () => [],
    /^\* +\w+ +http/m,
    each((value) => expect(value).toMatchObject({ url: hub.baseUrl })),
  ),
  row(
    'token',
    () => [],
    /there is no token/,
    () => undefined,
    2,
  ),
  row('run', () => ['--script', 'quick.js', '--quiet'], /FINISHED, scripts OK/, validTask),
  row(
    'submit',
    () => ['--script', 'quick.js'],
    /^[\w-]{36}$/m,
    ({ id }: { id: string }) => expect(id).toMatch(/^[\w-]{36}$/),
  ),
  row('wait', (mode) => [ids.ended[mode], '--quiet'], /FINISHED, scripts OK/, validTask),
  row('tasks', () => [], /^ID +STATUS +PRIORITY/m, validTasks),
  row('task', (mode) => [ids.ended[mode]], /^output +a\.txt, 1 B/m, valid(TASK)),
  row(
    'log',
    (mode) => [ids.ended[mode]],
    /it ran/,
    ({ log }: { log: string }) => expect(log).toContain('it ran'),
  ),
  row('result', (mode) => [ids.ended[mode], '--out', mode, '--manifest'], /a\.txt$/m, validTask),
  row(
    'manifest',
    (mode) => [ids.ended[mode]],
    /"format": "workbench-hub-manifest"/,
    valid(['paths', '/api/x/tasks/{id}/manifest', 'get', 'responses', '200']),
  ),
  row(
    'verify',
    (mode) => [mode],
    /^outputs +1 of 1 are as signed$/m,
    each((value) => expect(value).toMatchObject({ ok: true, files: { right: ['a.txt'] } })),
  ),
  row(
    'explain',
    (mode) => [ids.waiting[mode]],
    /no known/i,
    valid(['paths', '/api/x/tasks/{id}/explain', 'get', 'responses', '200']),
  ),
  row(
    'cancel',
    (mode) => [ids.waiting[mode]],
    /^[\w-]{36}$/m,
    (value) => expect(value).toMatchObject({ ok: true }),
  ),
  row('delete', (mode) => ['--name', `deleted ${mode}`, '--yes'], /^1 deleted$/m, valid(BULK)),
  row(
    'rerun',
    (mode) => [ids.ended[mode]],
    /^[\w-]{36}$/m,
    ({ id }: { id: string }) => expect(id).toHaveLength(36),
  ),
  row(
    'study run',
    (mode) => [
      ...['--name', `study ${mode}`, '--script', 'quick.js', '--version', 'none'],
      ...['--vary', 'speed=500', '--value', 'stress=result.json#$.stress', '--detach'],
    ],
    /^[\w-]{36}$/m,
    ({ id }: { id: string }) => expect(id).toHaveLength(36),
  ),
  row(
    'study ls',
    (mode) => ['--name', `study ${mode}`],
    /^ID +STATE +DONE/m,
    each((study) => valid(['paths', '/api/x/studies', 'get', 'responses', '200'])({ studies: [study] })),
  ),
  row('study show', (mode) => [`study ${mode}`], /^RUNNING, 0 of 1 points$/m, valid(STUDY)),
  row('study pause', (mode) => [`study ${mode}`], /: PAUSED$/m, valid(STUDY)),
  row('study resume', (mode) => [`study ${mode}`], /: RUNNING$/m, valid(STUDY)),
  row('study retry', (mode) => [`study ${mode}`], /^0 points are tried again$/m, equal({ retried: 0 })),
  row('study stop', (mode) => [`study ${mode}`], /: STOPPED$/m, valid(STUDY)),
  row('study watch', (mode) => [`study ${mode}`], /STOPPED, 1 of 1 points/, valid(STUDY), 3),
  row(
    'study export',
    (mode) => [`study ${mode}`],
    /^point,speed,outcome,stress,task,message\r?\n1,500,CANCELED,/m,
    (point) => valid(['paths', '/api/x/studies/{id}/points', 'get', 'responses', '200'])({ points: [point] }),
  ),
  row(
    'study delete',
    (mode) => [`study ${mode}`],
    /^[\w-]{36}$/m,
    (value) => expect(value).toHaveProperty('id'),
  ),
  row(
    'study invalidate',
    (mode) => ['--instance', `gone-${mode}`, '--note', 'wrong license'],
    /^[\w-]{36}$/m,
    valid(['paths', '/api/x/invalidations', 'post', 'responses', '201']),
  ),
  row(
    'study invalidations',
    () => [],
    /^ID +RESULTS +UP TO +NOTE\r?\n.*instance gone-/m,
    (invalidations) => valid(['paths', '/api/x/invalidations', 'get', 'responses', '200'])({ invalidations }),
  ),
  row(
    'study revalidate',
    (mode) => [ids.invalidation[mode]],
    /^[\w-]{36}$/m,
    (value) => expect(value).toHaveProperty('id'),
  ),
  row('instances', () => [], /^sim +UP +9\.1\.0/m, each(valid(INSTANCE))),
  row(
    'health',
    () => [],
    /^UP, 1 of 1 instances are up/m,
    valid(['paths', '/actuator/health', 'get', 'responses', '200']),
  ),
  row('upstreams', () => [], /^NAME +STATUS +JOINED/m, equal([])),
  row('hosts', () => [], /^RECIPE +IS +ALLOCATIONS.*\r?\nbelts +READY +0 of \d+/m, validRecipes),
  row('host hours', () => ['--months', '3'], /^MONTH +RECIPE +HOST-HOURS/m, equal([])),
  row('host pause', () => ['belts'], /^belts\r?$/m, equal({ name: 'belts' })),
  row('host resume', () => ['belts'], /^belts\r?$/m, equal({ name: 'belts' })),
  row('host drain', () => ['belts'], /^belts\r?$/m, equal({ name: 'belts' })),
  row('instance start', () => ['sim'], /start requested/, equal({ id: 'sim', action: 'start' })),
  row('instance restart', () => ['sim'], /restart requested/, equal({ id: 'sim', action: 'restart' })),
  row('instance stop', () => ['sim'], /stop requested/, equal({ id: 'sim', action: 'stop' })),
  row(
    'instance log',
    () => ['sim'],
    /./,
    (value) => expect(value).toMatchObject({ id: 'sim', type: 'console' }),
  ),
  row(
    'agent enroll',
    (mode) => [`host-${mode}`],
    /^[\w-]+$/m,
    valid(['paths', '/api/x/agents', 'post', 'responses', '201']),
  ),
  row('agent drain', (mode) => [`host-${mode}`], /by \S+ since/, valid(AGENT)),
  row('agents', () => [], /^ID +STATUS +VERSION/m, each(valid(AGENT))),
  row('agent undrain', (mode) => [`host-${mode}`], /^host-terminal|^host-pipe/m, valid(AGENT)),
  row('agent version', (mode) => [`host-${mode}`], /is not connected/, valid(AGENT), 4),
  row('agent rollout', () => [], /^OFF$/m, valid(['paths', '/api/x/rollout', 'get', 'responses', '200'])),
  row('agent update', (mode) => [`host-${mode}`], /this hub updates no agents/, valid(AGENT), 1),
  row(
    'agent revoke',
    (mode) => [`host-${mode}`],
    /^host-/m,
    (value) => expect(value).toHaveProperty('id'),
  ),
  row(
    'storage put',
    (mode) => ['quick.js', `put-${mode}`],
    /^put-/m,
    (value) => expect(value).toMatchObject({ size: 65 }),
  ),
  row(
    'storage ls',
    () => [],
    /^put-pipe +65 B/m,
    (files) => valid(['paths', '/api/x/storage/input', 'get', 'responses', '200'])({ files }),
  ),
  row('storage info', (mode) => [`put-${mode}`], /: exists/, equal({ name: 'put-json', exists: true })),
  row('storage rm', (mode) => [`put-${mode}`], /^put-/m, equal({ name: 'put-json' })),
  row(
    'storage get',
    (mode) => [storedName, `got-${mode}`],
    /^got-/m,
    (value) => expect(value).toMatchObject({ path: 'got-json' }),
  ),
  row(
    'open',
    () => [],
    /\/docs$/m,
    (value) => expect(value).toEqual({ url: `${hub.baseUrl}/docs` }),
  ),
  row('logout', (mode) => ['--profile', mode], /Logged out of/, equal({ profile: 'json' })),
];

function row(
  command: string,
  args: Row['args'],
  text: RegExp,
  json: (value: never) => unknown,
  code = 0,
): Row {
  return { command, args, text, json, code };
}

/** Commands that go on until Ctrl-C, and that of the shells. */
const OTHERS = ['events', 'complete'];

describe('every command', () => {
  beforeAll(async () => {
    const client = restClient(hub.baseUrl);
    const created = async (version: string, name: string) =>
      (
        await callWb(folder.path, hub.baseUrl, [
          'submit',
          '--script',
          'quick.js',
          '--version',
          version,
          '--name',
          name,
        ]).outcome
      ).stdout.trim();
    for (const mode of MODES) {
      ids.ended[mode] = await created('9.*', 'ended');
      ids.waiting[mode] = await created('1.*', 'waiting');
      ids.deleted[mode] = await created('9.*', `deleted ${mode}`);
    }
    const stored = await callWb(folder.path, hub.baseUrl, [
      'run',
      '--script',
      'store.js',
      '--json',
      '--quiet',
    ]).outcome;
    storedName =
      (JSON.parse(stored.stdout) as { storedFiles: { name: string }[] }).storedFiles[0]?.name ?? '';
    await eventually(async () => {
      const { counts } = (await client.call('/api/x/tasks')).json() as { counts: typeof COUNTS };
      return counts.FINISHED === 2 * MODES.length + 1;
    });
  });

  it('is tried here', async () => {
    const names = async (...words: string[]) => {
      const { stdout } = await callWb(folder.path, undefined, ['complete', '--', ...words, '']).outcome;
      return [...stdout.matchAll(/^([a-z]+)\t/gm)].flatMap(([, name = '']) =>
        name === 'help' ? [] : [name],
      );
    };
    const groups = ['study', 'instance', 'agent', 'host', 'storage'];
    const top = (await names()).filter((name) => !groups.includes(name));
    const below = await Promise.all(
      groups.map(async (group) => (await names(group)).map((name) => `${group} ${name}`)),
    );
    const tried = [...ROWS.map(({ command }) => command), ...OTHERS];
    expect(tried.toSorted()).toEqual([...top, ...below.flat()].toSorted());
  });

  it.each(ROWS)(
    'wb $command, on a terminal, in a pipe and with --json',
    async ({ command, args, text, json, code }) => {
      const words = command.split(' ');
      const outcomes = await Promise.all(
        MODES.map(async (mode) => ({ mode, outcome: await start(mode, [...words, ...args(mode)]).outcome })),
      );
      for (const { mode, outcome } of outcomes) {
        expect([mode, outcome.code, outcome.stderr]).toEqual([mode, code, outcome.stderr]);
        // Nothing but the bars of transfers rules the terminal.
        expect(outcome.stdout.replaceAll('\r\u001b[K', '')).not.toContain('\u001b');
        if (code !== 0) expect(outcome.stderr + outcome.stdout).toMatch(text);
        else if (mode === 'json') json(JSON.parse(outcome.stdout) as never);
        else expect(asSeen(outcome.stdout)).toMatch(text);
        if (mode !== 'terminal' && code === 0) expect(outcome.stdout.endsWith('\n')).toBe(true);
      }
    },
  );

  it.each(MODES)('wb events goes on until Ctrl-C, and says where to continue: %s', async (mode) => {
    const events = start(mode, ['events', '--status', 'waiting']);
    let printed = '';
    events.child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    let created = '';
    await eventually(async () => {
      // The first may come before the listener.
      created = await restClient(hub.baseUrl).createSimulateWork({ duration: 0 });
      await new Promise((resolve) => setTimeout(resolve, 300));
      return printed.includes('WAITING');
    });
    if (mode === 'terminal') events.type('\u0003');
    else events.child.kill('SIGINT');
    const { code, stdout, stderr } = await events.outcome;
    expect(code).toBe(130);
    expect(stderr + stdout).toMatch(/Continue with: wb events --since [\w.]+/);
    expect(created).not.toBe('');
    if (mode !== 'json') return;
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('cursor');
  });
});

describe.skipIf(!hasTerminals())('a question on the terminal', () => {
  it('is about the tasks that are shown: later ones stay, and no is an answer', async () => {
    const client = restClient(hub.baseUrl);
    const waiting = (name: string) =>
      client.createSimulateWork({ duration: 0, name, classifiers: [{ type: 'VERSION', value: '1.*' }] });
    const stays = async () => {
      const { tasks } = (await client.call('/api/x/tasks?name=asked&status=WAITING')).json() as {
        tasks: { id: string }[];
      };
      return tasks.map(({ id }) => id);
    };
    const first = await waiting('asked');
    const refusing = start('terminal', ['cancel', '--name', 'asked']);
    await eventually(() => refusing.told().includes('[y/N]'), 60_000);
    refusing.type('n\r');
    expect((await refusing.outcome).code).toBe(130);
    const leaving = start('terminal', ['cancel', '--name', 'asked']);
    await eventually(() => leaving.told().includes('[y/N]'), 60_000);
    leaving.type('\u0003');
    expect((await leaving.outcome).code).toBe(130);
    expect(await stays()).toEqual([first]);
    const agreeing = start('terminal', ['cancel', '--name', 'asked']);
    await eventually(() => agreeing.told().includes('[y/N]'), 60_000);
    const later = await waiting('asked');
    agreeing.type('y\r');
    expect((await agreeing.outcome).code).toBe(0);
    expect(await stays()).toEqual([later]);
  });
});

describe.skipIf(!hasTerminals())('the session that the page shows', () => {
  it('is what a terminal shows', async () => {
    const block = codeBlock(PAGE, '$ wb submit --script calibrate.js');
    const site = join(folder.path, 'session');
    mkdirSync(site);
    const other = await startHub(site, { instances: [{ id: 'sim', version: '9.1.0', labels: ['gears'] }] });
    await other.logged(({ msg }) => String(msg).startsWith('up: '));
    // Each job goes on until the terminal shows that it is where the page says.
    const until = (name: string) =>
      `const look = setInterval(() => { if (require('node:fs').existsSync(${JSON.stringify(join(site, name))})) clearInterval(look); }, 20);`;
    writeFileSync(join(site, 'calibrate.js'), until('go'));
    writeFileSync(join(site, 'gears.wbpz'), '40\n20\n');
    writeFileSync(
      join(site, 'ratio.js'),
      "println('ratio of 2 gears at', speed, 'rpm'); require('node:fs').writeFileSync('ratio.txt', '2');" +
        until('end'),
    );
    const shown: string[] = [];
    for (const [, command = ''] of block.matchAll(/^\$ wb (.*)$/gm)) {
      const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
      const called = callWb(site, other.baseUrl, words, { onTerminal: true });
      let hasAnswered = false;
      const watch = setInterval(() => {
        if (called.told().includes('WAITING:')) writeFileSync(join(site, 'go'), '');
        if (called.told().includes('ratio of 2 gears')) writeFileSync(join(site, 'end'), '');
        if (hasAnswered || !called.told().includes('[y/N]')) return;
        hasAnswered = true;
        called.type('y\r');
      }, 20);
      const { stdout } = await called.outcome.finally(() => clearInterval(watch));
      shown.push(`$ wb ${command}`, asSeen(stdout));
    }
    expect(general(shown.join('\n'))).toBe(general(block.trimEnd()));
  });
});

const ESCAPE = '\u001b';
/** How the line that the cursor is in is cleared: by bars, and by the reader of an answer. */
const CLEARS = [`\r${ESCAPE}[K`, `${ESCAPE}[1G${ESCAPE}[0J`];

/** Text as a terminal shows it in the end. */
function asSeen(text: string): string {
  const last = (line: string) =>
    CLEARS.reduce(
      (rest, clear) => rest.slice(rest.includes(clear) ? rest.lastIndexOf(clear) + clear.length : 0),
      line,
    );
  const lines = text.replaceAll(/\r+\n/g, '\n').split('\n').map(last);
  return lines
    .join('\n')
    .replaceAll(new RegExp(`${ESCAPE}\\[[\\d;?]*[A-Za-z]`, 'g'), '')
    .trimEnd();
}

/** The session without what differs each time. */
function general(text: string): string {
  const known: string[] = [];
  return text
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      if (!known.includes(id)) known.push(id);
      return `<id ${known.indexOf(id)}>`;
    })
    .replaceAll(/\bAGE +/g, 'AGE ')
    .replaceAll(/\b\d+ (?:s|min) +/g, '<age> ')
    .replaceAll(/ +$/gm, '');
}
