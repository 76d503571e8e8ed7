// Headquarters without instances of its own, and two sites that lend it theirs.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '../prepare.mjs';
import { instancesUp, MUJOCO, READY_TIMEOUT_MS } from './instances.mjs';
import { getJson } from './job.mjs';
import { startHub } from './one-hub.mjs';
import { waitForLog } from './programs.mjs';

const SITES = ['berlin', 'paris'];
/** Time in which headquarters notices that a site is silent, and that it is back. */
const NOTICED_MS = 60_000;
const POLL_MS = 200;

/**
 * Starts headquarters and the sites, and says so.
 *
 * @param {import('./run.mjs').Run} run
 * @returns {Promise<{ address: string, sites: { name: string, address: string, program: object }[] }>} `address`: that of
 *   headquarters
 */
export async function startSites(run) {
  const address = await startHub(run, 'sqlite');
  console.log('        headquarters, which has no instances of its own');
  const sites = [];
  const agents = [];
  for (const name of SITES) {
    const site = await startSite(run, name, address);
    agents.push(await startAgent(run, site));
    sites.push(site);
    console.log(
      `Site:   ${name} at ${site.address}, process ${site.program.pid}; agent host-${name}, process ${agents.at(-1).pid}`,
    );
  }
  const lent = await instancesUp(address, agents, SITES.length);
  console.log(`Lent:   ${lent.map(({ id }) => id).join(', ')}, as headquarters lists them`);
  return { address, sites };
}

/**
 * Cuts a site off, by pausing its hub, until headquarters takes it for unreachable. Resolves with a function that ends this, and
 * resolves when headquarters has the site back.
 */
export async function cutOff(address, { name, program }) {
  const cutAt = Date.now();
  process.kill(program.pid, 'SIGSTOP');
  console.log(`\nCut:    ${name} is cut off now: kill -STOP ${program.pid}`);
  const goOn = () => process.kill(program.pid, 'SIGCONT');
  try {
    await instancesOf(address, name, 'UNKNOWN');
  } catch (error) {
    goOn();
    throw error;
  }
  console.log(`        its instance is UNKNOWN at headquarters, ${since(cutAt)} later`);
  return async () => {
    const backAt = Date.now();
    goOn();
    await instancesOf(address, name, 'UP');
    console.log(`\nBack:   ${name} has joined again, ${since(backAt)} after kill -CONT`);
  };
}

function since(thenMs) {
  return `${((Date.now() - thenMs) / 1000).toFixed(1)} s`;
}

/** Resolves when all instances of a site have this status at headquarters. */
async function instancesOf(address, name, status) {
  const deadline = Date.now() + NOTICED_MS;
  for (;;) {
    const { content } = await getJson(`${address}/api/2.0/workbench/node/instance/list`);
    const own = content.filter(({ agentId }) => agentId === name);
    if (own.length > 0 && own.every((instance) => instance.status === status)) return;
    if (Date.now() > deadline)
      throw new Error(`The instances of ${name} were not ${status} within a minute.`);
    await delay(POLL_MS);
  }
}

async function startSite(run, name, headquarters) {
  const configFile = join(run.folder, `${name}.yaml`);
  await writeFile(
    configFile,
    `server: { host: 127.0.0.1, port: 0 }
dataDir: ./${name}
upstreams:
  - { name: headquarters, id: ${name}, url: "${headquarters.replace('http', 'ws')}", tokenFile: ./hub/agent-token }
`,
  );
  const program = await run.start({
    name,
    args: [join(root, 'hub/bin/workbench-hub.js'), '--config', configFile],
  });
  const logFile = join(run.folder, name, 'logs/hub.log');
  const address = await waitForLog(program, logFile, (line) => line.address, READY_TIMEOUT_MS);
  return { name, address, program };
}

async function startAgent(run, { name, address }) {
  const id = `host-${name}`;
  const configFile = join(run.folder, `${id}.yaml`);
  await writeFile(
    configFile,
    `id: ${id}
hub: ${address.replace('http', 'ws')}
tokenFile: ./${name}/agent-token
dataDir: ./${id}
instances:
  - ${JSON.stringify({ id: 'mujoco', ...MUJOCO })}
`,
  );
  return run.start({ name: id, args: [join(root, 'agent/bin/workbench-agent.js'), '--config', configFile] });
}
