// One hub and one agent.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../prepare.mjs';
import { instancesUp, MUJOCO, READY_TIMEOUT_MS, SIM } from './instances.mjs';
import { DEFAULT_PORT, freePort, isPortFree, waitForLog } from './programs.mjs';

/**
 * Starts them, and says so; resolves with the address of the hub.
 *
 * @param {import('./run.mjs').Run} run
 * @param {string} store value of the key `store`
 */
export async function startHubAndAgent(run, store) {
  const baseUrl = await startHub(run, store);
  await startAgent(run, baseUrl);
  return baseUrl;
}

/**
 * Starts a hub, at the usual port if that is free, and says so; resolves with its address.
 *
 * @param {import('./run.mjs').Run} run
 * @param {string} store value of the key `store`
 * @param {{ more?: (port: number) => string, env?: Record<string, string> }} options `more`: further lines of the configuration,
 *   which may name the port; `env`: changes of the environment
 */
export async function startHub(run, store, options = {}) {
  if (await isPortFree(DEFAULT_PORT)) {
    try {
      return await startHubOn(run, DEFAULT_PORT, store, { ...options, note: '' });
    } catch (error) {
      // Another quickstart may have taken it meanwhile.
      if (run.latest.isRunning() || (await isPortFree(DEFAULT_PORT))) throw error;
      await rm(join(run.folder, 'hub'), { recursive: true, force: true });
    }
  }
  const note = ` (port ${DEFAULT_PORT} is in use, so the hub chose another)`;
  return await startHubOn(run, options.more ? await freePort() : 0, store, { ...options, note });
}

async function startHubOn(run, port, store, { more = () => '', env = {}, note }) {
  const configFile = join(run.folder, 'hub.yaml');
  const config = `server: { host: 127.0.0.1, port: ${port} }\ndataDir: ./hub\nstore: ${store}\n${more(port)}`;
  // The store may have a password.
  await writeFile(configFile, config, { mode: 0o600 });
  const hub = await run.start({
    name: 'hub',
    args: [join(root, 'hub/bin/workbench-hub.js'), '--config', configFile],
    env,
  });
  const logFile = join(run.folder, 'hub/logs/hub.log');
  const address = await waitForLog(hub, logFile, ({ address }) => address, READY_TIMEOUT_MS);
  console.log(`\nHub:    ${address}, process ${hub.pid}${note}`);
  return address;
}

async function startAgent(run, baseUrl) {
  const configFile = join(run.folder, 'agent.yaml');
  await writeFile(
    configFile,
    `id: quickstart-host
hub: ${baseUrl.replace('http', 'ws')}
tokenFile: ./hub/agent-token
dataDir: ./agent
instances:
  - ${entry({ id: 'mujoco', ...MUJOCO, count: 2 })}
  - ${entry({ id: 'sim', ...SIM })}
`,
  );
  const agent = await run.start({
    name: 'agent',
    args: [join(root, 'agent/bin/workbench-agent.js'), '--config', configFile],
  });
  const up = await instancesUp(baseUrl, [agent], 3);
  console.log(
    `Agent:  quickstart-host, process ${agent.pid}, instances ${up.map(({ id }) => id).join(', ')}`,
  );
}

/** JSON is YAML. */
function entry(instance) {
  return JSON.stringify(instance);
}
