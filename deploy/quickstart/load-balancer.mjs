// Starts a load balancer before the hubs: HAProxy with the configuration of deploy/load-balancer where it is installed, otherwise
// that of this folder.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { root } from '../prepare.mjs';
import { DEFAULT_PORT, freePort, isPortFree, waitForResponse } from './programs.mjs';

const run = promisify(execFile);

const READY_TIMEOUT_MS = 30_000;

/** Debian has it where users other than root do not look. */
const PATH = [process.env.PATH, '/usr/sbin', '/usr/local/sbin'].join(delimiter);

const CONFIGURED_HUBS = ['10.0.0.11:8080', '10.0.0.12:8080', '10.0.0.13:8080'];

/**
 * @param {import('./run.mjs').Run} quickstart
 * @param {readonly string[]} hubs three addresses
 * @returns {Promise<{ program: object, address: string, kind: string, note: string }>} `kind` in words; `note`: text for a port
 *   other than the usual one
 */
export async function startLoadBalancer(quickstart, hubs) {
  const isUsualFree = await isPortFree(DEFAULT_PORT);
  try {
    if (isUsualFree) return { ...(await startOn(quickstart, DEFAULT_PORT, hubs)), note: '' };
  } catch (error) {
    // Another quickstart may have taken it meanwhile.
    if (quickstart.latest.isRunning() || (await isPortFree(DEFAULT_PORT))) throw error;
  }
  return {
    ...(await startOn(quickstart, await freePort(), hubs)),
    note: ` (port ${DEFAULT_PORT} is in use)`,
  };
}

async function startOn(quickstart, port, hubs) {
  const haproxy = await haproxyFor(quickstart.folder, port, hubs);
  const { kind, command } = haproxy ?? (await ownFor(quickstart.folder, port, hubs));
  const program = await quickstart.start({ name: 'load balancer', ...command });
  const address = `http://127.0.0.1:${port}`;
  await waitForResponse(program, `${address}/readyz`, READY_TIMEOUT_MS);
  return { program, address, kind };
}

/** Undefined unless an HAProxy is installed that accepts the configuration. */
async function haproxyFor(folder, port, hubs) {
  const env = { ...process.env, PATH };
  try {
    const { stdout } = await run('haproxy', ['-v'], { env });
    const text = await readFile(join(root, 'deploy/load-balancer/haproxy.cfg'), 'utf8');
    const file = join(folder, 'haproxy.cfg');
    await writeFile(file, haproxyConfig(text, port, hubs));
    await run('haproxy', ['-c', '-f', file], { env });
    const version = /version (\d[\d.]*\d)/.exec(stdout)?.[1] ?? '';
    const command = { command: 'haproxy', args: ['-db', '-f', file], env: { PATH } };
    return { kind: `HAProxy ${version}`.trim(), command };
  } catch {
    return undefined;
  }
}

/** The configuration with these hubs, on a port of the loopback address, as the user of this process. */
function haproxyConfig(text, port, hubs) {
  const placed = CONFIGURED_HUBS.reduce(
    (all, named, at) => all.replaceAll(named, new URL(hubs[at]).host),
    text,
  );
  const changed = placed
    .replace('\n  bind :8080\n', `\n  bind 127.0.0.1:${port}\n`)
    .replace('\n  log /dev/log local0\n  user haproxy\n  group haproxy\n', '\n');
  if (
    !changed.includes(`bind 127.0.0.1:${port}`) ||
    changed.includes('user haproxy') ||
    changed.includes('10.0.0.')
  )
    throw new Error('deploy/load-balancer/haproxy.cfg has another form');
  return changed;
}

async function ownFor(folder, port, hubs) {
  const file = join(folder, 'load-balancer.json');
  await writeFile(file, JSON.stringify({ port, hubs }));
  const main = fileURLToPath(new URL('balancer-main.mjs', import.meta.url));
  return { kind: "the quickstart's own, since HAProxy is not installed", command: { args: [main, file] } };
}
