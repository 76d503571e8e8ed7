// A job during which the hub that holds its agent is killed: the job goes on, and its result comes by way of the others.
import { setTimeout as delay } from 'node:timers/promises';
import { startAgain } from './cluster.mjs';
import { SWEPT_SPEEDS, speedSweep } from './example-jobs.mjs';
import { createJob, followJob, getJson } from './job.mjs';
import { killProgram } from './programs.mjs';

/** Duration for which the job is to run. */
const RUN_S = 12;

/** Lines that the job has printed when the hub is killed. */
const KILLED_AFTER_LINES = 6;

const POLL_MS = 100;
const LIMIT_MS = 60_000;

/**
 * Runs the job, kills the hub, and starts it again; says each step.
 *
 * @param {import('./run.mjs').Run} run
 * @param {{ hubs: object[], address: string, secondsPerSimulated: number }} options `address`: that of the load balancer;
 *   `secondsPerSimulated`: seconds that this machine takes for a simulated one
 * @returns {Promise<object>} the result of the task, with its `id`
 */
export async function killAHub(run, { hubs, address, secondsPerSimulated }) {
  const job = await speedSweep({ simulatedSeconds: RUN_S / secondsPerSimulated });
  const id = await createJob(address, job);
  console.log(`\nKill:   a second job, ${job.name}, is submitted as task ${id}`);
  let lines = 0;
  let kill;
  // Its result comes by a request that waits at any of the hubs, maybe at the one that is killed.
  const result = await followJob(address, id, (line) => {
    console.log(`        | ${line}`);
    lines++;
    if (lines === KILLED_AFTER_LINES) kill = settled(killHolder({ hubs, address, id }));
  });
  if (!kill)
    throw new Error(
      `The second job printed ${lines} lines instead of ${SWEPT_SPEEDS}. ${result.message ?? ''}`,
    );
  const { hub, error } = await kill;
  if (error) throw error;
  const { attempt } = await getJson(`${address}/api/x/tasks/${id}`);
  const how = attempt === 1 ? 'it went on without the hub' : 'it was begun again without the hub';
  console.log(
    `        ${result.status} on instance ${result.executingWorkbench?.id}, in attempt ${attempt}: ${how}`,
  );
  const { program } = await startAgain(run, hub);
  console.log(`        ${hub.name} is started again, process ${program.pid}, and takes requests`);
  return { ...result, id };
}

/** Resolves also when the promise rejects, which may be before anybody waits for it. */
function settled(promise) {
  return promise.then(
    (hub) => ({ hub }),
    (error) => ({ error }),
  );
}

/** Kills the hub that the agent of a running task is connected to; resolves with it when another has the agent. */
async function killHolder({ hubs, address, id }) {
  const holder = await hubWithTask(address, () => true);
  const hub = hubs.find((one) => one.address === holder.address);
  if (!hub) throw new Error(`There is an unknown hub at ${holder.address}.`);
  const { instance } = await getJson(`${address}/api/x/tasks/${id}`);
  const role = holder.scheduler ? ', which also gives out the tasks,' : '';
  console.log(
    `        the job runs on ${instance.id} of agent ${instance.agentId}, which is connected to ${hub.name}`,
  );
  console.log(`        ${hub.name}${role} is killed now: kill -9 ${hub.program.pid}`);
  const killedAt = Date.now();
  await killProgram(hub.program);

  const isAnother = (one) => one.address !== hub.address;
  const next = await hubWithTask(address, isAnother);
  const name = hubs.find((one) => one.address === next.address)?.name;
  console.log(
    `        ${instance.agentId} has joined ${name} with the running job, ${since(killedAt)} after the kill`,
  );
  if (!holder.scheduler) return hub;
  const scheduler = await hubWhere(address, (one) => one.scheduler && isAnother(one));
  const successor = hubs.find((one) => one.address === scheduler.address)?.name;
  console.log(`        ${successor} gives out the tasks now, ${since(killedAt)} after the kill`);
  return hub;
}

function since(thenMs) {
  return `${((Date.now() - thenMs) / 1000).toFixed(1)} s`;
}

function hubWithTask(address, fits) {
  return hubWhere(address, (hub) => hub.runningTasks > 0 && fits(hub));
}

/** The hub of the cluster that fits, as soon as there is one. */
async function hubWhere(address, fits) {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    const { content } = await getJson(`${address}/api/x/hubs`);
    const found = content.find(fits);
    if (found) return found;
    if (Date.now() > deadline) throw new Error('The cluster did not do what it should within a minute.');
    await delay(POLL_MS);
  }
}
