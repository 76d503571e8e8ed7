/** Suite that every driver passes, with jobs that run for real. */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AllocationSettings, ManagerSettings } from '@workbench-hub/hub/core/hosts/host-recipe';
import {
  type ManagedJob,
  type WorkloadManager,
  WorkloadManagerError,
} from '@workbench-hub/hub/core/ports/workload-manager';
import { openWorkloadManager } from '@workbench-hub/hub/workload-managers/open-workload-manager';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';

const AGENT = fileURLToPath(new URL('fixtures/recorded-agent.mjs', import.meta.url));
const WALL_TIME_MS = 30 * 60_000;

export interface WorkloadManagerUnderTest {
  /** Folder that this machine and the hosts share. */
  readonly folder: string;
  readonly manager: ManagerSettings;
  /** The same, with options by which a job stays in the queue. */
  readonly holding: ManagerSettings;
  /** The same, with options that the workload manager refuses. */
  readonly refusing: ManagerSettings;
  /** Words of the refusal. */
  readonly refusal: RegExp;
  /** Effect of a cancel on an agent. One that is killed leaves its data. */
  readonly endOfCanceled: 'asked to end' | 'killed';
  /** Whether the workload manager does not know a job any more when it has ended. */
  readonly isForgotten: boolean;
  /** Makes the workload manager unable to answer; jobs run on. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  readonly faults: Faults;
  close(): Promise<void>;
}

/** Faults of the workload manager. Those that it cannot show within seconds are absent. */
interface Faults {
  /** It takes requests and answers none, until it goes on. */
  readonly slow?: { halt(): unknown; resume(): unknown };
  /** A bound of what one may have; it resolves with settings of which a second job is one too many. */
  readonly quota?: { useUp(): Promise<ManagerSettings>; free(): unknown; readonly words: RegExp };
  /** A job that does not start by itself: settings with which it is handed in, and what is done to it then. */
  readonly stuck?: {
    readonly manager: ManagerSettings;
    after?(jobId: string): Promise<unknown>;
    readonly words: RegExp;
  };
  /** Kills its daemon without a warning, after it has kept what it knows of this job; `comeBack` starts it. */
  crash?(name: string): Promise<void>;
  /** Changes the time that a job may run in all to two minutes. */
  shorten?(jobId: string): Promise<unknown>;
  /** Makes the host of a job vanish, and lets the test bring it back. */
  loseHostOf?(jobId: string): Promise<() => Promise<void>>;
  /** State of such a job as the workload manager reports it; ENDED by default. */
  readonly lostJobIs?: 'ENDED' | 'QUEUED';
  /** Whether it ends jobs within seconds of the end of their time. */
  readonly endsInTime: boolean;
}

/** Length of the longest name that the hub gives an allocation: that of a recipe has 40 characters. */
const LONGEST_NAME = 53;

/** Faults with a test of their own. */
export type ShownFault = 'slow' | 'quota' | 'stuck' | 'crash' | 'loseHostOf';

/** Time in which a daemon that was killed has heard of all hosts again, and ends a job: that of Grid Engine waits for their next reports. */
const AFTER_A_CRASH_MS = 150_000;

/** Time limits of commands and requests are as much shorter. */
const HASTE = 12;

/** Timers by which an answer that takes a second or two is too late. */
const HASTY_TIMERS: Timers = {
  ...systemRuntime.timers,
  after: (delayMs, action) => systemRuntime.timers.after(delayMs / HASTE, action),
};

/** Names of the allocations of one test, and what they use. */
class Allocations {
  readonly names: string[] = [];
  readonly #of: WorkloadManagerUnderTest;

  constructor(of: WorkloadManagerUnderTest) {
    this.#of = of;
  }

  name(): string {
    const name = `test-${randomUUID()}`;
    this.names.push(name);
    return name;
  }

  open(
    manager = this.#of.manager,
    behavior = 'runs',
    folder = 'it is shared',
    { wallTimeMs = WALL_TIME_MS, timers = systemRuntime.timers } = {},
  ): WorkloadManager {
    const agentCommand = [process.execPath, AGENT, this.#of.folder, behavior];
    const allocation: AllocationSettings = {
      folder: join(this.#of.folder, folder),
      scratch: join(this.#of.folder, 'scratch'),
      agentCommand,
      agentConfigOf: () => ({ hub: 'wss://hub.example', instances: [{ command: ["it's"] }] }),
      wallTimeMs,
    };
    return openWorkloadManager({ manager, allocation, environment: process.env, runtime: { timers } });
  }

  /** Files and environment that the agent of an allocation was given, as soon as it runs. */
  given(name: string): Promise<{ config: Record<string, unknown>; credential: string; dataDir: string }> {
    return eventually(() => JSON.parse(readFileSync(join(this.#of.folder, `${name}.given`), 'utf8')));
  }

  signals(name: string): string {
    const file = join(this.#of.folder, `${name}.signals`);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  files(name: string): string {
    return join(this.#of.folder, 'it is shared', name);
  }
}

async function theJob(
  manager: WorkloadManager,
  name: string,
  state: ManagedJob['state'],
): Promise<ManagedJob> {
  return eventually(async () => {
    const [job] = await manager.jobs([name]);
    return job?.state === state && job;
  });
}

async function haveEnded(
  manager: WorkloadManager,
  names: readonly string[],
  limitMs?: number,
): Promise<void> {
  await eventually(async () => (await manager.jobs(names)).every(({ state }) => state === 'ENDED'), limitMs);
}

/** Ends all jobs of these names, also one that a submit starts after it was given up, and cancels each of them twice at most. */
async function endAll(manager: WorkloadManager, names: readonly string[]): Promise<void> {
  for (const name of names) await manager.cancel(name);
  const canceled = new Set<string>();
  await eventually(async () => {
    const left = (await manager.jobs(names)).filter(({ state }) => state !== 'ENDED');
    for (const { name, jobId } of left) {
      if (!canceled.has(jobId)) await manager.cancel(name);
      canceled.add(jobId);
    }
    return left.length === 0;
  });
}

/** The error of a call that must be rejected. */
async function faultOf(call: Promise<unknown>): Promise<WorkloadManagerError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof WorkloadManagerError) return error;
  throw new Error('the call was not rejected as a workload manager rejects', { cause: error });
}

/** `shown`: the faults that the workload manager can show within seconds, which its tests then expect of it. */
export function describeWorkloadManager(
  open: () => Promise<WorkloadManagerUnderTest>,
  shown: readonly ShownFault[],
): void {
  /** A fault that the workload manager shows. */
  const faultOfManager = <Fault extends ShownFault>(fault: Fault): NonNullable<Faults[Fault]> => {
    const found = underTest.faults[fault];
    if (found === undefined) throw new Error(`the workload manager under test lacks the fault ${fault}`);
    return found;
  };
  const itShows = (fault: ShownFault, title: string, test: () => Promise<void>) => {
    if (shown.includes(fault)) it(title, test);
  };
  let underTest: WorkloadManagerUnderTest;
  let allocations: Allocations;
  beforeAll(async () => {
    underTest = await open();
    await mkdir(join(underTest.folder, 'scratch'));
    await mkdir(join(underTest.folder, 'it is shared'));
  });
  afterAll(() => underTest?.close());
  beforeEach(() => {
    allocations = new Allocations(underTest);
  });
  afterEach(async () => {
    const manager = allocations.open();
    await endAll(manager, allocations.names);
  });

  it('runs an agent with its own id and credential, and says how long it may run', async () => {
    const manager = allocations.open();
    const name = allocations.name();
    const jobId = await manager.submit({ name, credential: 'its-secret' });
    const job = await theJob(manager, name, 'RUNNING');
    expect(job).toMatchObject({ name, jobId });
    const { config, credential, dataDir } = await allocations.given(name);
    const tokenFile = join(allocations.files(name), 'credential');
    const hub = 'wss://hub.example';
    expect(config).toEqual({ id: name, tokenFile, hub, instances: [{ command: ["it's"] }] });
    expect(credential).toBe('its-secret');
    expect(dataDir.startsWith(join(underTest.folder, 'scratch/'))).toBe(true);
    expect(job.remainingMs).toBeLessThanOrEqual(WALL_TIME_MS);
    expect(job.remainingMs).toBeGreaterThan(WALL_TIME_MS - 5 * 60_000);
    await eventually(async () => {
      const [later] = await manager.jobs([name]);
      return Number(later?.remainingMs) < Number(job.remainingMs);
    });
  });

  it('ends an agent by one signal, and leaves no data of it, unless it is killed', async () => {
    const manager = allocations.open();
    const name = allocations.name();
    await manager.submit({ name, credential: 'secret' });
    const { dataDir } = await allocations.given(name);
    expect(existsSync(dataDir)).toBe(true);
    await manager.cancel(name);
    await haveEnded(manager, [name]);
    for (const job of await manager.jobs([name])) {
      expect(job).toMatchObject({ remainingMs: null, reason: expect.any(String) });
    }
    if (underTest.endOfCanceled === 'asked to end') {
      expect(allocations.signals(name)).toBe('SIGTERM\n');
      await eventually(() => !existsSync(dataDir));
    }
    await manager.cancel(name);
  });

  it('says why a job waits, and cancels it', async () => {
    const manager = allocations.open(underTest.holding);
    const name = allocations.name();
    await manager.submit({ name, credential: 'secret' });
    const job = await theJob(manager, name, 'QUEUED');
    expect(job.remainingMs).toBeNull();
    expect(job.reason).toMatch(/held/i);
    expect(await manager.output(name)).toBe('');
    await manager.cancel(name);
    await haveEnded(manager, [name]);
  });

  itShows('stuck', 'says that a job is stuck that does not start by itself, and cancels it', async () => {
    const stuck = faultOfManager('stuck');
    const manager = allocations.open(stuck.manager);
    const name = allocations.name();
    const jobId = await manager.submit({ name, credential: 'secret' });
    await stuck.after?.(jobId);
    const job = await theJob(manager, name, 'STUCK');
    expect(job).toMatchObject({ jobId, remainingMs: null, reason: expect.stringMatching(stuck.words) });
    await manager.cancel(name);
    await haveEnded(manager, [name]);
  });

  it('keeps the end of what a job printed until its files are removed', async () => {
    const manager = allocations.open(underTest.manager, 'fails');
    const name = allocations.name();
    await manager.submit({ name, credential: 'secret' });
    await eventually(() => existsSync(join(allocations.files(name), 'output')));
    await haveEnded(manager, [name]);
    const output = await eventually(async () => (await manager.output(name)) || false);
    expect(output).toMatch(/^x+\nthis agent fails at once\n$/);
    expect(Buffer.byteLength(output)).toBe(16 * 1024);
    await manager.remove(name);
    await manager.remove(name);
    expect(existsSync(allocations.files(name))).toBe(false);
    expect(await manager.output(name)).toBe('');
  });

  it('shows a job twice that was handed in twice, and ends both', async () => {
    const manager = allocations.open();
    const launch = { name: allocations.name(), credential: 'secret' };
    const ids = [await manager.submit(launch), await manager.submit(launch)];
    const jobs = await manager.jobs([launch.name]);
    expect(jobs.map(({ jobId }) => jobId).toSorted()).toEqual(ids.toSorted());
    await manager.cancel(launch.name);
    await haveEnded(manager, [launch.name]);
    expect(await manager.jobs([launch.name])).toHaveLength(underTest.isForgotten ? 0 : 2);
  });

  it('knows no job of a name that was not handed in', async () => {
    const manager = allocations.open();
    const [known, unknown] = [allocations.name(), `test-${randomUUID()}`];
    await manager.submit({ name: known, credential: 'secret' });
    expect(await manager.jobs([])).toEqual([]);
    expect(await manager.jobs([unknown])).toEqual([]);
    expect((await manager.jobs([unknown, known])).map(({ name }) => name)).toEqual([known]);
    await manager.cancel(unknown);
    await manager.remove(unknown);
    expect(await manager.output(unknown)).toBe('');
  });

  it('finds its jobs among 1,200 names, each once', async () => {
    const manager = allocations.open(underTest.holding);
    const mine = [allocations.name(), allocations.name()];
    const ids = await Promise.all(mine.map((name) => manager.submit({ name, credential: 'secret' })));
    const others = Array.from({ length: 1198 }, (_, at) => `${String(at).padStart(LONGEST_NAME - 1, 'n')}-`);
    const jobs = await eventually(async () => {
      // The first command is asked about one of them, the last one about the other.
      const found = await manager.jobs([...mine.slice(0, 1), ...others, ...mine.slice(1)]);
      return found.length >= 2 && found;
    });
    expect(jobs.map(({ jobId }) => jobId).toSorted()).toEqual(ids.toSorted());
  });

  it('refuses names that could be more than a name', async () => {
    const manager = allocations.open();
    for (const name of ['', '..', 'a b', 'a/b', '$(id)', '-x\n', 'a'.repeat(101)]) {
      const refused = { fault: 'REFUSED', message: expect.stringContaining('cannot be the name of a job') };
      expect(await faultOf(manager.submit({ name, credential: 'secret' }))).toMatchObject(refused);
      for (const call of [
        manager.jobs([name]),
        manager.cancel(name),
        manager.output(name),
        manager.remove(name),
      ]) {
        expect(await faultOf(call)).toMatchObject(refused);
      }
    }
  });

  it('says what the workload manager does not take, before and when a job is handed in', async () => {
    expect(await allocations.open().check()).toBeNull();
    const manager = allocations.open(underTest.refusing);
    expect(await manager.check()).toMatch(underTest.refusal);
    const name = allocations.name();
    const error = await faultOf(manager.submit({ name, credential: 'secret' }));
    expect(error.fault).toBe('REFUSED');
    expect(error.message).toMatch(underTest.refusal);
    expect(await manager.jobs([name])).toEqual([]);
  });

  it('hands in nothing when the folder of all allocations is missing, and does not make it', async () => {
    const manager = allocations.open(underTest.manager, 'runs', 'missing');
    const missing = join(underTest.folder, 'missing');
    const name = allocations.name();
    const error = await faultOf(manager.submit({ name, credential: 'secret' }));
    expect(error).toMatchObject({
      fault: 'REFUSED',
      message: expect.stringContaining(`${missing} is no folder that this user may enter`),
    });
    expect(await manager.check()).toBe(error.message);
    expect(existsSync(missing)).toBe(false);
    expect(await manager.jobs([name])).toEqual([]);
  });

  it('tells nobody the credential', async () => {
    const manager = allocations.open();
    const name = allocations.name();
    await manager.submit({ name, credential: 'do-not-tell-anybody' });
    await allocations.given(name);
    const processes = processesOf(name);
    expect(processes.length).toBeGreaterThanOrEqual(2);
    for (const text of processes) expect(text).not.toContain('do-not-tell');
    const folder = allocations.files(name);
    expect(readdirSync(folder).toSorted()).toEqual(['agent.json', 'credential', 'job.sh', 'output']);
    const telling = readdirSync(folder).filter((file) =>
      readFileSync(join(folder, file), 'utf8').includes('do-not-tell'),
    );
    expect(telling).toEqual(['credential']);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
  });

  it('rejects everything while the workload manager does not answer, and changes nothing', async () => {
    const manager = allocations.open();
    const [running, other] = [allocations.name(), allocations.name()];
    const jobId = await manager.submit({ name: running, credential: 'secret' });
    await theJob(manager, running, 'RUNNING');
    await allocations.given(running);
    await underTest.leave();
    try {
      const errors = await Promise.all(
        [
          manager.submit({ name: other, credential: 'secret' }),
          manager.jobs([running]),
          manager.cancel(running),
          manager.check(),
        ].map(faultOf),
      );
      expect(errors.map(({ fault }) => fault)).toEqual(Array(4).fill('UNAVAILABLE'));
    } finally {
      await underTest.comeBack();
    }
    expect(await manager.jobs([running, other])).toMatchObject([{ name: running, jobId, state: 'RUNNING' }]);
    expect(allocations.signals(running)).toBe('');
  });

  itShows('slow', 'gives a workload manager up that takes too long, and changes nothing', async () => {
    const slow = faultOfManager('slow');
    const [running, other] = [allocations.name(), allocations.name()];
    const jobId = await allocations.open().submit({ name: running, credential: 'secret' });
    await theJob(allocations.open(), running, 'RUNNING');
    await allocations.given(running);
    const hasty = allocations.open(underTest.manager, 'runs', 'it is shared', { timers: HASTY_TIMERS });
    await slow.halt();
    try {
      const calls = [
        hasty.submit({ name: other, credential: 'secret' }),
        hasty.jobs([running]),
        hasty.check(),
      ];
      for (const { fault, message } of await Promise.all(calls.map(faultOf)))
        expect([fault, message]).toEqual(['UNAVAILABLE', expect.stringMatching(/within \d+ s/)]);
    } finally {
      await slow.resume();
    }
    // The job whose submit was cut off may have been taken, at most once.
    const jobs = await eventually(() => allocations.open().jobs([running, other]));
    expect(jobs.filter(({ name }) => name === running)).toMatchObject([{ jobId, state: 'RUNNING' }]);
    expect(jobs.filter(({ name }) => name === other).length).toBeLessThan(2);
    expect(allocations.signals(running)).toBe('');
  });

  itShows('quota', 'says in the words of the workload manager that a quota is used up', async () => {
    const quota = faultOfManager('quota');
    const [first, further] = [allocations.name(), allocations.name()];
    await allocations.open().submit({ name: first, credential: 'secret' });
    const manager = allocations.open(await quota.useUp());
    try {
      const error = await faultOf(manager.submit({ name: further, credential: 'secret' }));
      expect([error.fault, error.message]).toEqual(['REFUSED', expect.stringMatching(quota.words)]);
    } finally {
      await quota.free();
    }
    expect(await manager.jobs([further])).toEqual([]);
  });

  it('follows the end of the time as the workload manager says it', async () => {
    const { shorten, endsInTime } = underTest.faults;
    const name = allocations.name();
    const manager = allocations.open(underTest.manager, 'runs', 'it is shared', {
      wallTimeMs: endsInTime ? 4000 : WALL_TIME_MS,
    });
    const jobId = await manager.submit({ name, credential: 'secret' });
    const job = await theJob(manager, name, 'RUNNING');
    if (endsInTime) expect(job.remainingMs).toBeLessThanOrEqual(4000);
    if (shorten !== undefined) {
      await shorten(jobId);
      expect((await theJob(manager, name, 'RUNNING')).remainingMs).toBeLessThanOrEqual(120_000);
    }
    if (endsInTime) await haveEnded(manager, [name]);
  });

  itShows('crash', 'knows its jobs after its daemon was killed', async () => {
    const crash = faultOfManager('crash');
    const manager = allocations.open();
    const name = allocations.name();
    const jobId = await manager.submit({ name, credential: 'secret' });
    await theJob(manager, name, 'RUNNING');
    await allocations.given(name);
    await crash(name);
    await underTest.comeBack();
    expect(await manager.jobs([name])).toMatchObject([{ jobId, state: 'RUNNING' }]);
    expect(allocations.signals(name)).toBe('');
    await manager.cancel(name);
    await haveEnded(manager, [name], AFTER_A_CRASH_MS);
  });

  itShows('loseHostOf', 'says that a job does not run any more whose host has vanished', async () => {
    const { lostJobIs = 'ENDED' } = underTest.faults;
    const loseHostOf = faultOfManager('loseHostOf');
    const manager = allocations.open();
    const name = allocations.name();
    const jobId = await manager.submit({ name, credential: 'secret' });
    await theJob(manager, name, 'RUNNING');
    await allocations.given(name);
    const bringBack = await loseHostOf(jobId);
    try {
      const job = await theJob(manager, name, lostJobIs);
      expect(job).toMatchObject({ jobId, remainingMs: null });
      if (lostJobIs === 'ENDED') expect(job.reason).toMatch(/NODE_FAIL/);
    } finally {
      await bringBack();
    }
  });
}

/** Command lines and environments of the processes that have the name in one of them. */
function processesOf(name: string): string[] {
  const ids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const texts = ids.flatMap((id) => {
    try {
      return [readFileSync(`/proc/${id}/cmdline`, 'latin1') + readFileSync(`/proc/${id}/environ`, 'latin1')];
    } catch {
      return []; // It has ended meanwhile, or is not ours.
    }
  });
  return texts.filter((text) => text.includes(name));
}
