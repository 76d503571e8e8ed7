import type { FromLauncher, Launch, ToLauncher } from '@workbench-hub/agent/core/ports/launcher';
import { installedOnly, trialBegun, type VersionState } from '@workbench-hub/agent/core/version-states';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AgentEnd, Launcher, TRIAL_LIMIT_MS } from './launcher.js';

const BUILD = '0.1.0 abc';
const LIVEZ = 'http://127.0.0.1:1/livez';
const CRASH: AgentEnd = { exitCode: 1, signal: null };
const STOPPED: AgentEnd = { exitCode: 0, signal: null };

/** An agent that the test plays. */
interface PlayedAgent {
  readonly launch: Launch;
  readonly told: FromLauncher[];
  say(message: ToLauncher): void;
  end(how: AgentEnd): void;
}

let runtime: ManualRuntime;
let state: VersionState | null;
let agents: PlayedAgent[];
let notes: string[];
let isHubThere: boolean;
/** Time that the hub takes for an answer. */
let answerMs: number;
/** Whether the state can be written. */
let isRoom: boolean;
/** Called before each write of the state. */
let onWrite: () => void;
/** Fault of the host; null for none. */
let hostFault: string | null;
let kills: number;

beforeEach(() => {
  runtime = manualRuntime();
  state = null;
  agents = [];
  notes = [];
  isHubThere = true;
  answerMs = 0;
  isRoom = true;
  onWrite = () => undefined;
  hostFault = null;
  kills = 0;
});

it('ends with the agent, with its exit code', async () => {
  const { exitCode } = await launched();
  expect(latest().launch).toEqual({ version: null, isTrial: false, installed: '/opt/workbench-agent' });
  latest().end({ exitCode: 2, signal: null });
  expect(await exitCode).toBe(2);
});

it('starts a version that is to be tried when the agent has ended, and keeps it once it has proven itself', async () => {
  const { exitCode } = await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  expect(latest().launch).toMatchObject({ version: 'new', isTrial: true });
  expect(state?.trial).toMatchObject({ name: 'new', starts: 1 });
  latest().say({ type: 'proven' });
  await answered();
  expect(state).toMatchObject({ current: 'new', previous: null, trial: null });
  await runtime.advance(2 * TRIAL_LIMIT_MS);
  expect(latest().told).toEqual([{ type: 'answer', fault: null }]);
  latest().end(STOPPED);
  expect(await exitCode).toBe(0);
});

it.each([
  [CRASH, 'it ended with exit code 1'],
  [STOPPED, 'it ended'],
  [{ exitCode: 2, signal: null }, 'it ended with exit code 2'],
  [{ exitCode: null, signal: 'SIGSEGV' }, 'it was ended by SIGSEGV'],
  [{ exitCode: null, signal: null, fault: 'spawn EACCES' }, 'it could not be started: spawn EACCES'],
])('starts the version before at once when the one on trial ends: %j', async (end, reason) => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  latest().end(end);
  await started(3);
  expect(latest().launch).toMatchObject({ version: null, isTrial: false });
  expect(state?.trial).toBeNull();
  expect(state?.failed).toMatchObject([{ name: 'new', reason, log: 'printed by new' }]);
});

it('stops a version on trial that does not prove itself, and kills it when it does not stop', async () => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  const tried = latest();
  await runtime.advance(TRIAL_LIMIT_MS + 1000);
  expect(tried.told).toEqual([{ type: 'stop' }]);
  expect(kills).toBe(0);
  await runtime.advance(5000);
  expect(kills).toBe(1);
  await started(3);
  expect(latest().launch.version).toBeNull();
  expect(state?.failed[0]?.reason).toBe('it did not join its hub and finish the probe job within 45 s');
});

it('counts the time that a slow hub takes for its answers', async () => {
  answerMs = 2000;
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  await runtime.advance(TRIAL_LIMIT_MS - 2000);
  expect(latest().told).toEqual([]);
  await runtime.advance(2000 + 1000 + answerMs);
  expect(latest().told).toEqual([{ type: 'stop' }]);
});

it('counts no time for which the machine slept', async () => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  answerMs = 60 * 60_000;
  await runtime.advance(answerMs + 1000);
  answerMs = 0;
  await runtime.advance(TRIAL_LIMIT_MS - 10_000);
  expect(latest().told).toEqual([]);
  await runtime.advance(8000);
  expect(latest().told).toEqual([{ type: 'stop' }]);
});

it('waits for a hub that cannot be reached, however long', async () => {
  await launched();
  await order('new');
  latest().end(STOPPED);
  await started(2);
  await runtime.advance(30_000);
  isHubThere = false;
  await runtime.advance(60 * 60_000);
  expect(agents).toHaveLength(2);
  expect(latest().told).toEqual([]);
  isHubThere = true;
  await runtime.advance(10_000);
  expect(latest().told).toEqual([]);
  await runtime.advance(6000);
  expect(latest().told).toEqual([{ type: 'stop' }]);
});

it('goes on with a trial that a stop of the host has interrupted, three times at most', async () => {
  state = trialBegun(installedOnly(BUILD), 'new', LIVEZ);
  for (let start = 1; start <= 3; start++) {
    const { launcher, exitCode } = await launched();
    expect(latest().launch).toMatchObject({ version: 'new', isTrial: true });
    launcher.stop();
    expect(latest().told).toEqual([{ type: 'stop' }]);
    latest().end(STOPPED);
    expect(await exitCode).toBe(0);
  }
  await launched();
  expect(latest().launch).toMatchObject({ version: null, isTrial: false });
  expect(state?.failed[0]?.reason).toBe('it did not prove itself in 3 starts');
});

describe('a stop while no agent runs', () => {
  it.each([
    ['the start of a trial is counted', 1, async () => order('new')],
    ['the failure of a trial is noted', 2, async () => tryNew()],
  ])('starts no other when %s', async (_, count, prepare) => {
    const { launcher, exitCode } = await launched();
    await prepare();
    onWrite = () => launcher.stop();
    let ended: number | undefined;
    void exitCode.then((code) => {
      ended = code;
    });
    latest().end(STOPPED);
    await expect.poll(() => ended !== undefined || agents.length > count).toBe(true);
    expect({ ended, started: agents.length }).toEqual({ ended: 0, started: count });
  });

  it('starts none at all before the first', async () => {
    const launcher = await opened();
    launcher.stop();
    expect(await launcher.run()).toBe(0);
    expect(agents).toEqual([]);
  });

  async function tryNew(): Promise<void> {
    await order('new');
    latest().end(STOPPED);
    await started(2);
  }
});

it('starts the version before when one crashes three times soon after it had proven itself', async () => {
  state = { ...installedOnly(BUILD), current: 'new', provenAtMs: runtime.clock.nowMs() };
  for (let crash = 1; crash <= 2; crash++) {
    const { exitCode } = await launched();
    latest().end(CRASH);
    expect(await exitCode).toBe(1);
    await runtime.advance(60 * 60_000);
  }
  await launched();
  const before = agents.length;
  latest().end({ exitCode: null, signal: 'SIGABRT' });
  await started(before + 1);
  expect(latest().launch.version).toBeNull();
  expect(state?.failed[0]).toMatchObject({
    name: 'new',
    reason: 'it was ended by SIGABRT, after it had proven itself',
    log: 'printed by new',
  });
});

it.each([
  [0, 0],
  [2, 0],
  [1, 1],
  [7, 1],
  [0xc0000005, 1], // an access violation on Windows
])('takes an end with exit code %i on probation for %i crashes', async (code, crashes) => {
  state = { ...installedOnly(BUILD), current: 'new', provenAtMs: runtime.clock.nowMs() };
  const { exitCode } = await launched();
  latest().end({ exitCode: code, signal: null });
  expect(await exitCode).toBe(code);
  expect(state).toMatchObject({ current: 'new', crashes });
});

it('starts the installed file when the current version is gone', async () => {
  state = { ...installedOnly(BUILD), current: 'new' };
  await launched();
  latest().end({ exitCode: null, signal: null, fault: 'spawn ENOENT' });
  await started(2);
  expect(latest().launch.version).toBeNull();
});

it('leaves a full disk to the agent, which goes on', async () => {
  await launched();
  isRoom = false;
  latest().say({ type: 'try', name: 'new', livenessUrl: LIVEZ });
  await answered();
  expect(latest().told).toEqual([
    { type: 'answer', fault: 'the state of the versions cannot be written: ENOSPC' },
  ]);
  expect(state).toBeNull();
});

it('starts no trial that it cannot count, and the version before when it cannot write that one has failed', async () => {
  state = trialBegun(installedOnly(BUILD), 'new', LIVEZ);
  isRoom = false;
  await launched();
  expect(latest().launch).toMatchObject({ version: null, isTrial: false });

  isRoom = true;
  agents = [];
  await launched();
  expect(latest().launch.isTrial).toBe(true);
  isRoom = false;
  latest().end(CRASH);
  await started(2);
  expect(latest().launch.version).toBeNull();
});

it('writes as soon as there is room that a version could not be tried', async () => {
  state = trialBegun(installedOnly(BUILD), 'new', LIVEZ);
  await launched();
  isRoom = false;
  latest().end(CRASH);
  await started(2);
  await runtime.advance(15_000);
  expect(state?.untried).toBeNull();
  isRoom = true;
  await runtime.advance(10_000);
  expect(state).toMatchObject({ trial: null, untried: { name: 'new', times: 1 }, failed: [] });
});

describe('a trial that a fault of the host ends', () => {
  const FULL = 'the disk of its host is full';

  beforeEach(async () => {
    await launched();
    await order('new');
    latest().end(STOPPED);
    await started(2);
  });

  it('says nothing of the version: the one before is told of it', async () => {
    hostFault = FULL;
    latest().end(CRASH);
    await started(3);
    const untried = { name: 'new', reason: FULL };
    expect(latest().launch).toMatchObject({ version: null, isTrial: false, untried });
    expect(state).toMatchObject({ trial: null, failed: [], untried: { ...untried, times: 1 } });
  });

  it('is one also when its disk was full for some seconds only', async () => {
    hostFault = FULL;
    await runtime.advance(3000);
    hostFault = null;
    await runtime.advance(TRIAL_LIMIT_MS);
    expect(latest().told).toEqual([{ type: 'stop' }]);
    expect(state).toMatchObject({ trial: null, failed: [], untried: { reason: FULL } });
  });

  it('is one that the host has no processes or files for', async () => {
    latest().end({ exitCode: null, signal: null, fault: 'spawn EMFILE', isOfHost: true });
    await started(3);
    expect(state).toMatchObject({ failed: [], untried: { reason: 'it could not be started: spawn EMFILE' } });
  });

  it('is repeated after a pause that doubles up to an hour, and at once when that is asked for', async () => {
    for (const minutes of [10, 20, 40, 60, 60]) {
      await endByFullDisk();
      expect(await answerTo('new')).toContain(`${FULL}; it is tried again in ${minutes} min at the earliest`);
      await runtime.advance(minutes * 60_000 - 1);
      expect(await answerTo('new')).toContain('in 1 min at the earliest');
      await runtime.advance(1);
      expect(await answerTo('new')).toBeNull();
      await tryNow();
    }
    await endByFullDisk();
    expect(await answerTo('newer')).toBeNull();
    expect(await answerTo('new', true)).toBeNull();
    await tryNow();
    latest().say({ type: 'proven' });
    await answered();
    expect(state).toMatchObject({ current: 'new', untried: null, failed: [] });
  });

  it('is not repeated while the disk is full', async () => {
    hostFault = FULL;
    latest().end(CRASH);
    await started(3);
    expect(await answerTo('new', true)).toBe(`version new cannot be tried: ${FULL}`);
    expect(state?.trial).toBeNull();
  });

  async function endByFullDisk(): Promise<void> {
    hostFault = FULL;
    latest().end(CRASH);
    await started(agents.length + 1);
    hostFault = null;
  }

  /** Has the version that is to be tried started. */
  async function tryNow(): Promise<void> {
    latest().end(STOPPED);
    await started(agents.length + 1);
    expect(latest().launch).toMatchObject({ version: 'new', isTrial: true });
  }
});

it('counts no crash on probation that a full disk explains', async () => {
  state = { ...installedOnly(BUILD), current: 'new', provenAtMs: runtime.clock.nowMs() };
  hostFault = 'the disk of its host is full';
  for (let crash = 1; crash <= 4; crash++) {
    const { exitCode } = await launched();
    expect(latest().launch.version).toBe('new');
    latest().end(CRASH);
    expect(await exitCode).toBe(1);
  }
  expect(state).toMatchObject({ current: 'new', crashes: 0, failed: [] });
});

/** Writes of the state from an order to the proof: of the trial, of its start, and of its proof. */
const WRITES = 3;

it.each(Array.from({ length: WRITES }, (_, at) => at))(
  'proves a good version in the end although the disk is full from write %i of its state on',
  async (at) => {
    await launched();
    let writes = 0;
    onWrite = () => {
      isRoom = writes++ < at;
      hostFault = isRoom ? null : 'the disk of its host is full';
    };
    const isProven = () => state?.current === 'new';
    const fault = await answerTo('new');
    expect(fault === null).toBe(at > 0);
    if (fault === null) {
      const before = agents.length;
      latest().end(STOPPED);
      await started(before + 1);
    }
    // A trial that could not be noted is none, and one whose proof cannot be noted comes to its end.
    if (latest().launch.isTrial) {
      latest().say({ type: 'proven' });
      await answered();
      const before = agents.length;
      latest().end(CRASH);
      await started(before + 1);
    }
    expect(latest().launch).toMatchObject({ version: null, isTrial: false });
    onWrite = () => undefined;
    [isRoom, hostFault] = [true, null];
    await runtime.advance(20_000);
    expect(isProven()).toBe(false);
    expect(state?.failed ?? []).toEqual([]);

    expect(await answerTo('new', true)).toBeNull();
    const before = agents.length;
    latest().end(STOPPED);
    await started(before + 1);
    latest().say({ type: 'proven' });
    await answered();
    expect(isProven()).toBe(true);
    expect(state).toMatchObject({ failed: [], untried: null });
  },
);

/** A launcher that runs, with the agent that it has started. */
async function launched() {
  const before = agents.length;
  const launcher = await opened();
  const exitCode = launcher.run();
  await started(before + 1);
  return { launcher, exitCode };
}

function opened(): Promise<Launcher> {
  return Launcher.open({
    installed: '/opt/workbench-agent',
    build: BUILD,
    start: (launch, onMessage) => {
      let end: (how: AgentEnd) => void = () => undefined;
      const ended = new Promise<AgentEnd>((resolve) => {
        end = resolve;
      });
      const told: FromLauncher[] = [];
      agents.push({ launch, told, say: onMessage, end: (how) => end(how) });
      return {
        ended,
        log: () => `printed by ${launch.version}`,
        send: (message) => void told.push(message),
        kill: () => {
          kills++;
          end({ exitCode: null, signal: 'SIGKILL' });
        },
      };
    },
    isHubThere: async () => {
      if (answerMs > 0) await new Promise<void>((go) => void runtime.timers.after(answerMs, go));
      return isHubThere;
    },
    hostFault: async () => hostFault,
    readState: async () => state,
    writeState: async (next) => {
      onWrite();
      if (!isRoom) throw new Error('ENOSPC');
      state = next;
    },
    runtime,
    note: (sentence) => notes.push(sentence),
  });
}

function latest(): PlayedAgent {
  const agent = agents.at(-1);
  if (agent === undefined) throw new Error('no agent was started');
  return agent;
}

async function started(count: number): Promise<void> {
  await expect.poll(() => agents.length).toBe(count);
}

async function answered(): Promise<void> {
  const { told } = latest();
  await expect.poll(() => told.some(({ type }) => type === 'answer')).toBe(true);
}

async function order(name: string): Promise<void> {
  latest().say({ type: 'try', name, livenessUrl: LIVEZ });
  await answered();
}

/** Answer of the launcher to an order to try a version. */
async function answerTo(name: string, again = false): Promise<string | null | undefined> {
  const { told } = latest();
  const before = told.length;
  latest().say({ type: 'try', name, livenessUrl: LIVEZ, again });
  await expect.poll(() => told.length).toBe(before + 1);
  const answer = told.at(-1);
  return answer?.type === 'answer' ? answer.fault : undefined;
}
