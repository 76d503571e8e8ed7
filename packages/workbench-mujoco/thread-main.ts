/** Main module of the simulator's thread: loads MuJoCo, and runs jobs until it is ended from outside. */
import { parentPort, workerData } from 'node:worker_threads';
import type { PointParams } from '@workbench-hub/shared/instance-protocol/messages';
import { jobOfPoint, MAX_BUNDLE_MS } from './bundle.js';
import { type JobPlace, runJob } from './job.js';
import { KeptSimulator } from './kept-simulator.js';
import { type LoadModel, ParsedModel } from './model.js';
import { outputSender } from './output-channel.js';
import { takeOutputs } from './point-folder.js';
import { openJobRealm } from './realm.js';
import { sealThread } from './realm-border.js';
import { type RealmSources, readRealmSources } from './realm-sources.js';
import { relativePathsBeginAt } from './relative-paths.js';
import { observeThread } from './thread-check.js';
import type { EndedJob, EndedPoint, JobMessage, ThreadData, ThreadMessage } from './thread-messages.js';
import { openThreadRealm } from './thread-realm.js';

const port = parentPort;
if (!port) throw new Error('thread-main.js is started by workbench-mujoco as a thread');
const { simulator, inFlight, isolation } = workerData as ThreadData;
const post = (message: ThreadMessage): void => port.postMessage(message);
const send = outputSender(inFlight, (stream, text) => post({ kind: 'output', stream, text }));

const sources = isolation === 'realm' ? readRealmSources() : undefined;
let kept: KeptSimulator | undefined;
let jobRealm: JobPlace | undefined;
let threadRealm: JobPlace | undefined;
/** Working directory of the running job. That of the process may lie outside its sandbox. */
let directory = '/';
relativePathsBeginAt(() => directory);
await prepare();
if (sources) sealThread();
const observed = observeThread();
const jobs: JobMessage[] = [];
let wake: (() => void) | undefined;
port.on('message', (message: JobMessage) => {
  jobs.push(message);
  wake?.();
});
post({ kind: 'ready' });

for (;;) {
  const message = await nextJob();
  directory = message.job.workingDirectory;
  const { points } = message.job;
  const ended = points ? await runPoints(message, points) : await runOne(message);
  post({ kind: 'jobEnded', ...ended });
  if (!ended.isSpent) await prepare();
}

async function runOne(message: JobMessage, load?: LoadModel): Promise<EndedJob> {
  const place = await placeFor(message);
  const end = await runJob(place, message.job, message.sources, send, load);
  const left = message.isolation === 'thread' ? undefined : observed.difference(message.isolation);
  return { end, isSpent: message.isolation === 'thread' || left !== undefined, left };
}

/** Runs points until all have ended, the thread is spent, one needs a directory of its own, or they have taken long. */
async function runPoints(message: JobMessage, points: readonly PointParams[]): Promise<EndedJob> {
  const staged = message.staged ?? new Map();
  // The memory of a realm is restored before each point.
  const model = message.isolation === 'none' ? new ParsedModel() : undefined;
  const beganAtMs = performance.now();
  const ended: EndedPoint[] = [];
  const tell = (isLast = false) => post({ kind: 'pointsEnded', points: ended.splice(0), isLast });
  let state: Omit<EndedJob, 'end'> = { isSpent: false, left: undefined };
  for (const [index, point] of points.entries()) {
    if (index > 0) await prepare();
    const { end, ...after } = await runOne({ ...message, job: jobOfPoint(message.job, point) }, model?.load);
    state = after;
    const outputs = takeOutputs(directory, staged);
    const endedMs = performance.now() - beganAtMs;
    if (outputs) ended.push({ end, endedMs, outputs });
    const isLast = outputs === undefined || endedMs > MAX_BUNDLE_MS;
    if (isLast || message.tellsEachPoint || state.isSpent || index === points.length - 1) tell(isLast);
    if (isLast || state.isSpent) break;
  }
  model?.delete();
  return { end: { kind: 'ended', status: 'OK' }, ...state };
}

/** Starts the simulator for the realms of jobs. */
async function startSimulator(sources: RealmSources): Promise<KeptSimulator> {
  const kept = new KeptSimulator(simulator, sources);
  await openJobRealm(sources, kept, send);
  kept.started();
  return kept;
}

/** Prepares for the next job. */
async function prepare(): Promise<void> {
  if (sources) {
    // Memory that has grown does not become smaller: then the simulator is started again.
    if (kept?.restore() !== true) kept = await startSimulator(sources);
    jobRealm = await openJobRealm(sources, kept, send);
  } else threadRealm ??= await openThreadRealm(simulator, send);
}

async function placeFor(message: JobMessage): Promise<JobPlace> {
  if (message.isolation === 'realm' && jobRealm) {
    const place = jobRealm;
    jobRealm = undefined;
    return place;
  }
  threadRealm ??= await openThreadRealm(simulator, send);
  return threadRealm;
}

/** Waits for a job. While it runs, the port does not keep the thread alive, which reveals the end of a script. */
async function nextJob(): Promise<JobMessage> {
  port?.ref();
  while (jobs.length === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  wake = undefined;
  port?.unref();
  return jobs.shift() as JobMessage;
}
