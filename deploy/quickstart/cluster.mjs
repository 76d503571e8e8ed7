// Three hubs on one database, with a load balancer before them, and four agents.
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../prepare.mjs';
import { instancesUp, MUJOCO, SIM } from './instances.mjs';
import { startLoadBalancer } from './load-balancer.mjs';
import { waitForLog, waitForResponse } from './programs.mjs';

const HUBS = 3;
const AGENTS = 4;

/** Eleven programs start at the same time. */
const READY_TIMEOUT_MS = 120_000;

/**
 * @typedef {{ name: string, address: string, folder: string, configFile: string, store: string, program: object }} StartedHub
 */

/**
 * Starts the cluster, and says so.
 *
 * @param {import('./run.mjs').Run} run
 * @param {string} store address of the database
 * @returns {Promise<{ hubs: StartedHub[], address: string }>} `address`: that of the load balancer
 */
export async function startCluster(run, store) {
  const files = join(run.folder, 'files');
  await mkdir(files, { mode: 0o700 });
  const shared = { store, files, encryptionKey: randomBytes(32).toString('base64') };
  // The first one makes the tables.
  const first = await startHub(run, 'hub-1', shared);
  const others = Array.from({ length: HUBS - 1 }, (_, at) => startHub(run, `hub-${at + 2}`, shared));
  const hubs = [first, ...(await Promise.all(others))];
  console.log('');
  for (const [at, { name, address, program }] of hubs.entries())
    console.log(`${at === 0 ? 'Hubs:   ' : '        '}${name} at ${address}, process ${program.pid}`);

  const addresses = hubs.map(({ address }) => address);
  const { program, address, kind, note } = await startLoadBalancer(run, addresses);
  console.log(
    `Entry:  ${address}, a load balancer before the three (${kind}), process ${program.pid}${note}`,
  );

  const agents = [];
  for (let number = 1; number <= AGENTS; number++) agents.push(await startAgent(run, number, addresses));
  await instancesUp(
    address,
    agents.map(({ program }) => program),
    AGENTS + 1,
    READY_TIMEOUT_MS,
  );
  for (const [at, agent] of agents.entries()) {
    const hub = hubs.find(({ address }) => address === agent.joined);
    console.log(
      `${at === 0 ? 'Agents: ' : '        '}${agent.id}, process ${agent.program.pid}, has joined ${hub?.name ?? agent.joined}`,
    );
  }
  return { hubs, address };
}

/** Starts a killed hub again, at the same address. */
export async function startAgain(run, hub) {
  const port = new URL(hub.address).port;
  await writeHubConfig(hub, port);
  const program = await run.start({ name: hub.name, args: hubArgs(hub) });
  await waitForResponse(program, `${hub.address}/readyz`, READY_TIMEOUT_MS);
  return { ...hub, program };
}

async function startHub(run, name, shared) {
  const hub = { name, folder: run.folder, configFile: join(run.folder, `${name}.yaml`), ...shared };
  await writeHubConfig(hub, 0);
  const program = await run.start({ name, args: hubArgs(hub) });
  const logFile = join(run.folder, name, 'logs/hub.log');
  const address = await waitForLog(program, logFile, ({ address }) => address, READY_TIMEOUT_MS);
  return { ...hub, program, address };
}

function hubArgs({ configFile }) {
  return [join(root, 'hub/bin/workbench-hub.js'), '--config', configFile];
}

async function writeHubConfig({ name, configFile, store, files, encryptionKey }, port) {
  const config = {
    server: { host: '127.0.0.1', port: Number(port), trustedProxies: ['127.0.0.1'] },
    dataDir: `./${name}`,
    store,
    storage: { folder: files, encryptionKey },
  };
  // It has the password of the store, and the key.
  await writeFile(configFile, JSON.stringify(config, null, 2), { mode: 0o600 });
}

/** Resolves when the agent has joined a hub, whose address is `joined`. */
async function startAgent(run, number, hubs) {
  const id = `host-${number}`;
  const configFile = join(run.folder, `${id}.yaml`);
  const mujoco = { id: `mujoco-${number}`, ...MUJOCO };
  const config = {
    id,
    hub: hubs.map((address) => address.replace('http', 'ws')),
    tokenFile: './hub-1/agent-token',
    dataDir: `./${id}`,
    instances: number === AGENTS ? [mujoco, { id: 'sim', ...SIM }] : [mujoco],
  };
  await writeFile(configFile, JSON.stringify(config, null, 2));
  const program = await run.start({
    name: id,
    args: [join(root, 'agent/bin/workbench-agent.js'), '--config', configFile],
  });
  const logFile = join(run.folder, id, 'logs/agent.log');
  const isJoin = ({ msg, hub }) => (msg === 'joined the hub' ? hub : undefined);
  const joined = await waitForLog(program, logFile, isJoin, READY_TIMEOUT_MS);
  return { id, program, joined: joined.replace('ws', 'http').replace(/\/$/, '') };
}
