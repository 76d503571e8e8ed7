import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { Job } from '@workbench-hub/shared/domain/job';
import type {
  Assignment,
  Hub,
  HubConnection,
  HubListener,
  InstanceState,
} from '@workbench-hub/shared/joining/ports/hub';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { Loan, Task } from '../../core/task.js';
import type { LendingRule } from './lending-settings.js';
import { Upstream, type UpstreamPorts } from './upstream.js';

const SIM = { type: 'SIMULATE_WORK', durationS: 1 } as const;
const BATCH_JOB: Job = {
  type: 'EXECUTE_BATCH_JOB',
  model: null,
  scripts: [{ digest: 'a'.repeat(64), sizeBytes: 3 }],
  additionalFiles: [],
  variables: [],
};

const LEND: LendingRule = {
  labels: [],
  instances: [],
  max: null,
  takeBackMs: null,
  isAlways: false,
  hours: [],
  hasHosts: true,
};

let runtime: ManualRuntime;
beforeEach(() => {
  runtime = manualRuntime();
});

/** An upstream that joins at once, and again after each end of its connection, and acknowledges nothing. */
function silentHub() {
  const sent: AttemptReport[] = [];
  /** States of lent instances, as introduced and sent. */
  const lent: string[] = [];
  /** Output, with the number of its connection from 1 on. */
  const output: string[] = [];
  const closed: string[] = [];
  const connections: HubConnection[] = [];
  const listeners: HubListener[] = [];
  const tell = ({ id, lent: state }: InstanceState) => void lent.push(`${id} ${state}`);
  const hub: Hub = {
    addresses: ['ws://hq'],
    nodeId: 'site',
    join: (_, listener) =>
      new Promise((resolve) => {
        const ended = new AbortController();
        const number = connections.length + 1;
        const connection: Partial<HubConnection> = {
          ended: ended.signal,
          inlineBlobBytes: 0,
          isOutputStorageOn: false,
          isCongested: () => false,
          sendInstance: tell,
          sendOutput: (_ref, _offset, text) => void output.push(`${number}: ${text}`),
          sendReport: (report) => {
            if (!ended.signal.aborted) sent.push(report);
          },
          close: async (reason) => {
            closed.push(reason);
            ended.abort();
            resolve(reason);
          },
        };
        for (const state of listener.introduce().instances) tell(state);
        listeners.push(listener);
        connections.push(connection as HubConnection);
        listener.onJoined(connection as HubConnection);
      }),
  };
  const assign = (given: Assignment) => listeners.at(-1)?.onAssign(given);
  const disconnect = () => connections.at(-1)?.close('the link is broken');
  return { hub, sent, lent, output, closed, connections, assign, disconnect };
}

/** The lending to this hub; `fields` take the place of ports that do nothing. */
function upstreamAt(hub: Hub, fields: { readonly [Port in keyof UpstreamPorts]?: unknown } = {}) {
  const errors: string[] = [];
  const log = {
    child: () => log,
    info: () => undefined,
    warn: () => undefined,
    error: (_: unknown, message: string) => void errors.push(message),
  };
  const instances = {
    list: () => [],
    find: () => undefined,
    idleInstance: () => undefined,
    attemptOn: () => null,
    agents: () => [],
  };
  const ownHub = { id: 'site', baseUrl: null };
  const hostEnds = { leftMsOf: () => null };
  const ports = { instances, hostEnds, runtime, log, ownHub, isPaused: () => false, ...fields };
  const settings = { name: 'hq', agentId: 'berlin', prefix: 'berlin:', lend: LEND };
  return { upstream: new Upstream(settings, hub, ports as unknown as UpstreamPorts), errors };
}

/** The one instance of the hub, on which the test has an attempt or none. */
function onePress() {
  const state = { taskId: null as string | null, idleSinceMs: 0 };
  const view = () => ({
    profile: { id: 'press', version: '9', revision: '1', labels: [] },
    agentId: 'host',
    status: 'UP' as const,
    startedAtMs: 0,
    working: state.taskId !== null,
    drain: null,
  });
  const instances = {
    list: () => [view()],
    find: view,
    idleInstance: () => (state.taskId === null ? {} : undefined),
    attemptOn: () =>
      state.taskId === null ? null : { taskId: state.taskId, attempt: 1, instanceId: 'press' },
    idleSinceMsOf: () => (state.taskId === null ? state.idleSinceMs : null),
    awaitLoan: () => () => undefined,
    agents: () => [],
  };
  return { state, instances };
}

const assignment = (number: number): Assignment => ({
  ref: { taskId: `task-${number}`, attempt: 1, instanceId: 'berlin:press' },
  timeLimitMs: null,
  job: SIM,
});

it('an upstream that assigns without end and acknowledges nothing is left, and takes no more memory', async () => {
  const { hub, sent, closed, assign } = silentHub();
  const { upstream, errors } = upstreamAt(hub);
  await upstream.start([]);
  await runtime.advance(0);
  for (let number = 0; number < 5000; number++) assign(assignment(number));
  await runtime.advance(1);
  expect(sent).toHaveLength(1000);
  expect(sent[0]).toMatchObject({ taskId: 'task-0', outcome: 'RETURNED' });
  expect(closed).toEqual(['a flood of assignments']);
  expect(errors).toEqual([expect.stringContaining('assigns more than this hub lends')]);
  await upstream.stop();
});

it('an instance that a canceled loan still uses after its report is offered again when it is free', async () => {
  const { hub, sent, lent } = silentHub();
  const { state, instances } = onePress();
  const origin = { hub: 'https://hq.example.com', user: null };
  const loan: Loan = { upstream: 'hq', ref: assignment(1).ref, proof: null, origin };
  const task = {
    id: 'loan',
    type: 'SIMULATE_WORK',
    loan,
    startedAtMs: 0,
    attempt: 1,
    instance: { id: 'press' },
  };
  let stored = { ...task, status: 'RUNNING', message: null, endedAtMs: null as number | null };
  state.taskId = 'loan';
  const archive = {
    find: async () => stored,
    filesOf: async () => ({ outputFiles: [], log: null }),
    formerAttempts: async () => [],
  };
  const { upstream } = upstreamAt(hub, { instances, archive });
  await upstream.start([stored as unknown as Task & { loan: Loan }]);
  await runtime.advance(0);
  expect(lent.splice(0)).toEqual(['berlin:press OFFERED']);

  stored = { ...stored, status: 'CANCELED', endedAtMs: runtime.clock.nowMs() };
  upstream.taskChanged('loan');
  await runtime.advance(20_000);
  expect([sent.length, lent.length]).toEqual([0, 0]);
  await runtime.advance(20_000);
  expect(sent).toMatchObject([{ outcome: 'RETURNED' }]);
  expect(lent.splice(0)).toEqual(['berlin:press IN_USE']);

  state.taskId = null;
  state.idleSinceMs = runtime.clock.monotonicMs();
  upstream.instanceChanged('press');
  await runtime.advance(1000);
  expect(lent).toEqual(['berlin:press OFFERED']);
  await upstream.stop();
});

it('a loan whose inputs are still fetched is given back when the hub stops', async () => {
  const { hub, sent, assign } = silentHub();
  const { instances } = onePress();
  const files = { hold: () => ({ release: () => undefined }), find: () => new Promise(() => undefined) };
  const { upstream } = upstreamAt(hub, { instances, files });
  await upstream.start([]);
  await runtime.advance(0);
  assign({ ...assignment(1), job: BATCH_JOB });
  await runtime.advance(1000);
  expect(sent).toEqual([]);
  await upstream.stop();
  expect(sent).toMatchObject([{ ...assignment(1).ref, outcome: 'RETURNED' }]);
  expect(sent[0]).not.toHaveProperty('hostFault');
});

it('what a loan prints is passed on once over the connection of the time, however often it has changed', async () => {
  const { hub, output, connections, assign, disconnect } = silentHub();
  const { state, instances } = onePress();
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const found = { sizeBytes: 3, isEncrypted: false, open: () => undefined };
  const files = {
    hold: () => ({ release: () => undefined }),
    find: () => arrived.then(() => found),
  };
  let followers = 0;
  const logFollower = {
    follow: async function* (_id: string, _from: unknown, end: AbortSignal) {
      followers++;
      yield { type: 'output', offset: 0, text: 'step 1' };
      await new Promise((resolve) => end.addEventListener('abort', resolve));
      followers--;
    },
  };
  const transitions = {
    create: async ({ id }: Task) => {
      upstream.enqueued(id);
      state.taskId = id;
    },
  };
  const scheduler = { place: async () => true };
  const { upstream } = upstreamAt(hub, { instances, files, transitions, scheduler, logFollower });
  await upstream.start([]);
  await runtime.advance(0);
  assign({ ...assignment(1), job: BATCH_JOB });
  await disconnect();
  await runtime.advance(5000);
  expect([connections.length, output]).toEqual([2, []]);

  arrive();
  await runtime.advance(0);
  expect([output.splice(0), followers]).toEqual([['2: step 1'], 1]);
  await disconnect();
  await runtime.advance(5000);
  expect([output, followers]).toEqual([['3: step 1'], 1]);
  await upstream.stop();
  expect(followers).toBe(0);
});

it('what a loan prints is passed on though the upstream was joined again before its task was there', async () => {
  const { hub, output, connections, assign, disconnect } = silentHub();
  const { state, instances } = onePress();
  const found = { sizeBytes: 3, isEncrypted: false, open: () => undefined };
  const files = { hold: () => ({ release: () => undefined }), find: async () => found };
  let create: () => void = () => undefined;
  const created = new Promise<void>((resolve) => {
    create = resolve;
  });
  const logFollower = {
    follow: async function* (_id: string, _from: unknown, end: AbortSignal) {
      if (state.taskId === null) throw new Error('there is no such task');
      yield { type: 'output', offset: 0, text: 'step 1' };
      await new Promise((resolve) => end.addEventListener('abort', resolve));
    },
  };
  const transitions = {
    create: async ({ id }: Task) => {
      await created;
      upstream.enqueued(id);
      state.taskId = id;
    },
  };
  const scheduler = { place: async () => true };
  const { upstream } = upstreamAt(hub, { instances, files, transitions, scheduler, logFollower });
  await upstream.start([]);
  await runtime.advance(0);
  assign({ ...assignment(1), job: BATCH_JOB });
  await runtime.advance(0);
  await disconnect();
  await runtime.advance(5000);
  create();
  await runtime.advance(0);
  expect([connections.length, output]).toEqual([2, ['2: step 1']]);
  await upstream.stop();
});

it('what a loan prints is passed on after a read of it has failed', async () => {
  const { hub, output, connections, assign } = silentHub();
  const { state, instances } = onePress();
  const found = { sizeBytes: 3, isEncrypted: false, open: () => undefined };
  const files = { hold: () => ({ release: () => undefined }), find: async () => found };
  let follows = 0;
  const logFollower = {
    follow: async function* (_id: string, _from: unknown, end: AbortSignal) {
      if (++follows === 1) throw new Error('the database is away');
      yield { type: 'output', offset: 0, text: 'step 1' };
      await new Promise((resolve) => end.addEventListener('abort', resolve));
    },
  };
  const transitions = {
    create: async ({ id }: Task) => {
      upstream.enqueued(id);
      state.taskId = id;
    },
  };
  const scheduler = { place: async () => true };
  const { upstream } = upstreamAt(hub, { instances, files, transitions, scheduler, logFollower });
  await upstream.start([]);
  await runtime.advance(0);
  assign({ ...assignment(1), job: BATCH_JOB });
  await runtime.advance(0);
  expect([follows, output]).toEqual([1, []]);
  await runtime.advance(5000);
  expect([follows, output, connections.length]).toEqual([2, ['1: step 1'], 1]);
  await upstream.stop();
});
