/** A hub with hosts, users and tasks of all kinds, for screenshots. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { api } from '@workbench-hub/client';
import { scryptPasswords } from '@workbench-hub/hub/security/passwords';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { JobTable } from '../support/hosts/job-table.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { keepSecret } from '../support/secrets.js';
import { writeHistory } from './history.js';
import { failing, gearStudy, type JobToRun, running, sliderCrank, spurGear } from './jobs.js';

export const ADMINISTRATOR = 'anna';
const ENGINEER = 'bela';
/** Label of jobs for hosts of a workload manager. */
const FATIGUE = 'fatigue';
/** Time between signs of life of an agent; one that is silent for half a minute is unreachable. */
const HEARTBEAT_MS = 5000;

export interface Stage {
  readonly address: string;
  /** Tasks by what they show. */
  readonly tasks: Readonly<Record<'plots' | 'solid' | 'failed' | 'running' | 'waiting', string>>;
  /** Study that has ended. */
  readonly study: string;
  readonly passwordOf: (username: string) => string;
  stop(): Promise<void>;
}

/** Passwords of a hub that lives for a minute. */
const passwordOf = (username: string) => `screenshots of ${username}`;

export async function setStage(folder: string): Promise<Stage> {
  const dataDir = join(folder, 'hub');
  mkdirSync(dataDir, { recursive: true });
  writeHistory(join(dataDir, 'hub.sqlite'), Date.now());
  const jobs = new JobTable(folder, FATIGUE);
  const cluster = jobs.recipe({
    name: 'cluster',
    wallTime: '4h',
    max: { allocations: 20, hostHoursPerDay: 400 },
  });
  const hub = await startHub(folder, {
    security: { enabled: true, users: await users() },
    hosts: [cluster],
  });
  startAgents(folder, hub);
  const anna = await callerAs(hub, ADMINISTRATOR);
  await joinAndLeave(hub, anna.token);
  const bela = await callerAs(hub, ENGINEER);
  await eventually(async () => {
    const { totalElements } = await anna.get('/api/2.0/workbench/node/instance/list?status=UP');
    return totalElements === 7;
  });
  await drainGpuHost(anna);
  await anna.post('/api/x/tokens', { name: 'nightly regression', role: 'USER' });
  await bela.upload('wing-v7.mesh', 3_400_000);
  await bela.upload('steel-42CrMo4.json', 5200);
  await anna.upload('gear-measurement.csv', 460_000);

  const study = await bela.endedStudy(gearStudy);
  const solid = await bela.handIn(spurGear);
  const failed = await bela.handIn(failing);
  for (const rpm of [900, 1200]) await bela.handIn(sliderCrank(rpm));
  const plots = await bela.handIn(sliderCrank(1500));
  const gate = join(folder, 'gate');
  await Promise.all([solid, failed, plots].map((id) => bela.ended(id)));
  const runningId = await bela.handIn(running(gate));
  const flutter = { ...sliderCrank(1800), name: 'wing flutter, Mach 0.82', version: '24.2', label: 'gpu' };
  const waiting = await bela.handIn(flutter);
  await eventually(async () => {
    const { totalElements } = await anna.get('/api/2.0/workbench/node/instance/list?status=FAILED');
    return totalElements === 1;
  });
  const stopHosts = await bringHosts(hub, jobs, bela);
  return {
    address: hub.baseUrl,
    tasks: { plots, solid, failed, running: runningId, waiting },
    study,
    passwordOf,
    stop: async () => {
      stopHosts();
      writeFileSync(gate, '');
      await endPrograms();
    },
  };
}

async function users() {
  const passwords = scryptPasswords({ ln: 10, r: 8, p: 1 });
  const all = Object.entries({ [ADMINISTRATOR]: ['ADMIN'], [ENGINEER]: ['USER'] });
  return Promise.all(
    all.map(async ([username, roles]) => {
      const passwordHash = await passwords.hash(passwordOf(username));
      keepSecret(passwordOf(username));
      keepSecret(passwordHash);
      return { username, roles, passwordHash };
    }),
  );
}

/** Hosts that run jobs, one that is drained, and one that needs help. */
function startAgents(folder: string, hub: HubProgram): void {
  const mujoco = { version: '3.14.0', labels: ['multibody', 'mujoco'], command: ['workbench-mujoco'] };
  startAgent(folder, hub, 'sim-host-1', { instances: [{ id: 'multibody', count: 4, ...mujoco }] });
  const gears = { version: '9.1.0', labels: ['gears', 'linux'] };
  startAgent(folder, hub, 'sim-host-2', { instances: [{ id: 'gears', count: 3, ...gears }] });
  const gpu = { version: '24.2', labels: ['gpu', 'linux'], autostart: false };
  startAgent(folder, hub, 'gpu-host', { instances: [{ id: 'gpu', count: 2, ...gpu }] });
  // A program that is missing a library.
  const crash = { version: '9.2.0', labels: ['crash', 'linux'] };
  startAgent(folder, hub, 'lab-host', {
    instances: [
      { id: 'crash-1', ...crash, command: ['node', '-e', 'process.exit(3)'] },
      { id: 'crash-2', ...crash, autostart: false },
    ],
  });
}

/** Drains the host before its instances start, so that nothing runs there. */
async function drainGpuHost(anna: CallerOfStage): Promise<void> {
  await eventually(async () => {
    await anna.post('/api/x/agents/gpu-host/drain', { reason: 'new driver, back at noon' });
    return true;
  });
  for (const id of ['gpu-1', 'gpu-2']) await anna.patch(`/api/2.0/workbench/node/instance/${id}/start`);
}

/** A host that was there once. */
async function joinAndLeave(hub: HubProgram, token: string): Promise<void> {
  const address = { address: hub.baseUrl, token: readFileSync(hub.tokenFile, 'utf8').trim() };
  const gears = instanceReportOf({ id: 'gears-old', version: '8.4.2', labels: ['gears'] });
  const agent = await FakeAgent.join(address, { id: 'old-host', instances: [gears] });
  await agent.leave(token);
}

/** Hosts of a workload manager: a start that failed, one that works until the returned function is called, and one that waits there. */
async function bringHosts(hub: HubProgram, jobs: JobTable, bela: CallerOfStage): Promise<() => void> {
  const allocationIn = (state: api.HostAllocation['state']) =>
    eventually(async () => {
      const [recipe] = (await bela.get('/api/x/hosts'))['content'] as api.HostRecipe[];
      return recipe?.allocations.find((each) => each.state === state)?.id;
    });
  const handIn = (rpm: number) =>
    bela.handIn({
      name: `crank fatigue, ${rpm} rpm`,
      scripts: ["println('10^7 load cycles')"],
      version: '9.1.0',
      label: FATIGUE,
    });
  await handIn(1400);
  jobs.fail(await allocationIn('QUEUED'), 'workbench-agent: /scratch: no space left on device\n');
  await allocationIn('ENDED');
  const name = await allocationIn('QUEUED');
  jobs.run(name, 3.6 * 3600);
  const agent = await jobs.join({ address: hub.baseUrl }, name);
  const heartbeats = setInterval(() => agent.say({ type: 'heartbeat' }), HEARTBEAT_MS);
  await allocationIn('JOINED');
  await handIn(1600);
  await allocationIn('QUEUED');
  return () => clearInterval(heartbeats);
}

interface CallerOfStage {
  readonly token: string;
  get(path: string): Promise<Record<string, unknown>>;
  post(path: string, body: unknown): Promise<Record<string, unknown>>;
  patch(path: string): Promise<unknown>;
  upload(name: string, sizeBytes: number): Promise<void>;
  /** Returns the id of the task. */
  handIn(job: JobToRun): Promise<string>;
  ended(id: string): Promise<void>;
  /** Returns the id of the study when its last point has ended. */
  endedStudy(study: typeof gearStudy): Promise<string>;
}

async function callerAs({ baseUrl }: HubProgram, username: string): Promise<CallerOfStage> {
  const send = async (
    method: string,
    path: string,
    body?: string | FormData,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: token === '' ? headers : { ...headers, authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  const post = (path: string, body: unknown) =>
    send('POST', path, JSON.stringify(body), { 'content-type': 'application/json' });
  let token = '';
  const login = await post('/api/2.0/auth/login', { username, password: passwordOf(username) });
  token = String(login['accessToken']);
  keepSecret(token);
  const TASKS = '/api/2.0/workbench/task/execute-batch-job';
  return {
    token,
    get: (path) => send('GET', path),
    post,
    patch: (path) => send('PATCH', path),
    upload: async (name, sizeBytes) => {
      const form = new FormData();
      form.append('file', new Blob([Buffer.alloc(sizeBytes, name)]), name);
      await send('POST', '/api/2.0/storage/input/upload', form);
    },
    handIn: async (job) => String((await post(`${TASKS}/create`, bodyOf(job)))['id']),
    ended: async (id) => {
      await eventually(async () => {
        const { status } = await send('GET', `${TASKS}/${id}/result?timeout=20`);
        return status !== 'WAITING' && status !== 'RUNNING';
      });
    },
    endedStudy: async ({ variables, ...study }) => {
      const id = String((await post('/api/x/studies', { ...study, ...bodyOf(study), variables }))['id']);
      await eventually(async () => (await send('GET', `/api/x/studies/${id}`))['state'] === 'FINISHED');
      return id;
    },
  };
}

function bodyOf({ name, scripts, version, label, model, variables = {} }: JobToRun) {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return {
    name,
    classifiers: [
      { type: 'VERSION', value: version },
      { type: 'LABLES', value: label },
    ],
    ...(model === undefined ? {} : { inputModel: { type: model.type, content: base64(model.content) } }),
    inputScripts: scripts.map((script) => ({ content: base64(script) })),
    variablesToInject: Object.entries(variables).map(([key, value]) => ({ key, value })),
  };
}
