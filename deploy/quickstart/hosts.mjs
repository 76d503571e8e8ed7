// A hub without hosts, which Slurm brings while a study has points that wait.
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '../prepare.mjs';
import { CRANK_SPEEDS, sliderCrankStudy } from './example-jobs.mjs';
import { MUJOCO } from './instances.mjs';
import { getJson, postJson } from './job.mjs';
import { startHub } from './one-hub.mjs';
import { slurmEnvironment, slurmJobs, startSlurm } from './slurm.mjs';

const HOSTS = 2;
const INSTANCES = 2;
/** Points that must have ended between two lines about them. */
const TOLD_POINTS = 3;
const POLL_MS = 200;
const STUDY_MS = 300_000;
const GONE_MS = 60_000;

/**
 * Starts Slurm and a hub with a recipe for it, and says so; resolves with the address of the hub.
 *
 * @param {import('./run.mjs').Run} run
 */
export async function startHubWithSlurm(run) {
  await startSlurm(run);
  const shared = join(run.folder, 'shared');
  await mkdir(shared);
  const recipeFor = (port) => ({
    name: 'slurm',
    manager: { kind: 'slurm', options: ['--partition=main'] },
    folder: shared,
    scratch: run.folder,
    wallTime: '10m',
    idleTimeout: '3s',
    max: { allocations: HOSTS },
    agent: {
      command: [process.execPath, join(root, 'agent/bin/workbench-agent.js')],
      hub: `ws://127.0.0.1:${port}`,
      instances: [{ id: 'mujoco', ...MUJOCO, count: INSTANCES }],
    },
  });
  const address = await startHub(run, 'sqlite', {
    more: (port) => `hosts: [${JSON.stringify(recipeFor(port))}]\n`,
    env: slurmEnvironment(run.folder),
  });
  console.log(
    `        no agent, and a recipe: up to ${HOSTS} hosts with ${INSTANCES} instances each, as jobs of Slurm`,
  );
  return address;
}

/** Hands in a study, shows the hosts that come and go, and saves a table; resolves with the id of the study when all are gone. */
export async function runStudyOnHosts(run, address) {
  const definition = await sliderCrankStudy();
  const { id } = await postJson(`${address}/api/x/studies`, definition);
  const begunAtMs = Date.now();
  const hosts = new ShownHosts(address, begunAtMs);
  console.log(`\nStudy:  ${definition.name}, ${CRANK_SPEEDS.length} points, handed in as ${id}`);
  let ended = 0;
  const study = await repeated(STUDY_MS, 'The study did not end in time.', async () => {
    await hosts.show();
    const latest = await getJson(`${address}/api/x/studies/${id}`);
    const { total, waiting, open } = latest.points;
    const now = total - waiting - open;
    if (now >= ended + TOLD_POINTS || (now === total && now > ended)) {
      ended = now;
      console.log(`        | ${ended} of ${total} points`);
    }
    return latest.state === 'FINISHED' ? latest : undefined;
  });
  console.log(`        ${study.points.FINISHED} points FINISHED, ${since(begunAtMs)} after it was handed in`);
  await save(address, id);
  await repeated(GONE_MS, 'Slurm has a job of this quickstart still.', async () => {
    await hosts.show();
    return hosts.areGone && (await slurmJobs(run.folder)).length === 0 ? true : undefined;
  });
  console.log('\nSlurm:  has no job any more: squeue is empty');
  return id;
}

/** The allocations as the hub lists them, each change told in a line. */
class ShownHosts {
  #address;
  #begunAtMs;
  #states = new Map();

  constructor(address, begunAtMs) {
    this.#address = address;
    this.#begunAtMs = begunAtMs;
  }

  get areGone() {
    return [...this.#states.values()].every((state) => state === 'ENDED' || state === 'LOST');
  }

  async show() {
    const { content } = await getJson(`${this.#address}/api/x/hosts`);
    for (const allocation of content[0].allocations) {
      const { id, state } = allocation;
      const known = this.#states.get(id);
      if (known === state) continue;
      this.#states.set(id, state);
      if (known === undefined)
        console.log(`Host:   ${id} is asked for: ${allocation.reason} (${since(this.#begunAtMs)})`);
      const words = inWords(allocation);
      if (words) console.log(`Host:   ${id} ${words} (${since(this.#begunAtMs)})`);
    }
  }
}

function inWords({ state, jobId, message, cause }) {
  switch (state) {
    case 'QUEUED':
      return `waits as job ${jobId} of Slurm`;
    case 'STARTED':
      return `runs as job ${jobId} of Slurm`;
    case 'JOINED':
      return `has joined the hub, as job ${jobId} of Slurm`;
    case 'DRAINING':
      return `is given back: ${message ?? cause}`;
    case 'ENDED':
    case 'LOST':
      return 'is gone';
    default:
      return undefined;
  }
}

async function save(address, id) {
  const { points } = await getJson(`${address}/api/x/studies/${id}/points?limit=10000`);
  const rows = points.map(({ variables, values }) => `${variables.crankSpeedRpm},${values.acceleration}`);
  const folder = join(root, 'quickstart-results', id);
  await mkdir(folder, { recursive: true });
  const text = `crank_speed_rpm,largest_piston_acceleration_m_s2\n${rows.join('\n')}\n`;
  await writeFile(join(folder, 'study.csv'), text);
  console.log(`\nResult: 1 file in ${relative(process.cwd(), folder) || folder}`);
  console.log(`        ${String(text.length).padStart(9)} bytes  study.csv`);
}

/** Repeats an action until it resolves with something; throws an Error with these words after the time. */
async function repeated(limitMs, words, action) {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const result = await action();
    if (result !== undefined) return result;
    if (Date.now() > deadline) throw new Error(words);
    await delay(POLL_MS);
  }
}

function since(thenMs) {
  return `${((Date.now() - thenMs) / 1000).toFixed(1)} s`;
}
