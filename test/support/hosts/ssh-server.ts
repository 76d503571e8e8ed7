/** A real sshd on this machine, with keys of its own, for commands that begin with ssh. */
import { type ChildProcessWithoutNullStreams, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../temporary-folder.js';
import { type FreezingRelay, freezingRelay } from './freezing-relay.js';

const SSHD = '/usr/sbin/sshd';
/** Name of the host in the client's configuration, under which its key is known. */
const HOST = 'submit-host';
/** Ports that are tried: one that was free may be taken by others meanwhile. */
const PORTS_TRIED = 5;
const MAX_COMPLAINT_LENGTH = 2000;

/** Prepares for root what sshd asks for: a folder, and a root whose account is not locked. */
const AS_ROOT = `set -e
mount -t tmpfs none /run
mkdir -m 755 /run/sshd
printf 'root:*:19000:0:99999:7:::\\nsshd:*:19000:0:99999:7:::\\n' >"$0/shadow"
mount --bind "$0/shadow" /etc/shadow
`;
/** Runs sshd until the standard input ends. When sshd has ended, nothing has the standard error open. */
const START = `${SSHD} -D -e -f "$0/sshd_config" &
server=$!
exec 2>/dev/null
cat >/dev/null
kill "$server"
`;
/** Namespaces for root, with which all that was started in them ends. */
const NAMESPACES = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

export interface SshServer {
  /** Beginning of commands that run by ssh, with these options of ssh. */
  via(...options: readonly string[]): readonly string[];
  /** Connections to it, which the test can freeze. */
  readonly connections: Pick<FreezingRelay, 'freeze' | 'count'>;
  stop(): Promise<void>;
}

/** Whether this machine has sshd, and as root the rights for namespaces. Without them, tests with ssh are skipped, and the run says so; never under
 *  CI, where they fail. */
export function hasSshServer(): boolean {
  if (process.env['CI'] !== undefined) return true;
  try {
    if (!existsSync(SSHD)) throw new Error(`there is no ${SSHD}`);
    execFileSync('ssh', ['-V'], { stdio: 'pipe' });
    if (isRoot()) execFileSync('unshare', ['--mount', '--pid', '--fork', 'true'], { stdio: 'pipe' });
    return true;
  } catch (error) {
    console.warn(`SKIPPED, tests with a real ssh: ${(error as Error).message.trim()}`);
    return false;
  }
}

/** Starts a server that takes a key of its own; resolves when it takes connections. */
export async function sshServer(): Promise<SshServer> {
  const { path: folder, remove } = await temporaryFolder();
  await makeKeys(folder);
  const { process: server, port } = await started(folder);
  const relay = await freezingRelay(port);
  await writeFile(join(folder, 'ssh_config'), clientConfiguration(folder, relay.port));
  return {
    via: (...options) => ['ssh', '-F', join(folder, 'ssh_config'), ...options, HOST],
    connections: relay,
    async stop() {
      relay.close();
      await ended(server);
      await remove();
    },
  };
}

async function makeKeys(folder: string): Promise<void> {
  const generate = promisify(execFile);
  for (const key of ['host_key', 'user_key'])
    await generate('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', join(folder, key)]);
  await writeFile(join(folder, 'authorized_keys'), await readFile(join(folder, 'user_key.pub')));
  await writeFile(
    join(folder, 'known_hosts'),
    `${HOST} ${await readFile(join(folder, 'host_key.pub'), 'utf8')}`,
  );
  // Paths of sockets are short: that of a connection that ssh keeps is here.
  await mkdir(join(folder, 'kept'));
}

async function started(folder: string): Promise<{ process: ChildProcessWithoutNullStreams; port: number }> {
  let complaint = '';
  for (let tried = 0; tried < PORTS_TRIED; tried++) {
    const port = await freePort();
    await writeFile(join(folder, 'sshd_config'), serverConfiguration(folder, port));
    const [program = '', ...args] = isRoot()
      ? [...NAMESPACES, 'sh', '-c', `${AS_ROOT}${START}`, folder]
      : ['sh', '-c', START, folder];
    const server = spawn(program, args, { stdio: 'pipe' });
    server.stdout.resume();
    const { isListening, printed } = await firstWords(server);
    if (isListening) return { process: server, port };
    await ended(server);
    complaint = printed;
  }
  throw new Error(`sshd does not start: ${complaint}`);
}

/** Resolves when it listens, or has ended. */
function firstWords(
  server: ChildProcessWithoutNullStreams,
): Promise<{ readonly isListening: boolean; readonly printed: string }> {
  return new Promise((resolve, reject) => {
    let printed = '';
    server.once('error', reject);
    server.stderr
      .setEncoding('utf8')
      .on('data', (chunk: string) => {
        printed = `${printed}${chunk}`.slice(-MAX_COMPLAINT_LENGTH);
        if (printed.includes('Server listening on')) resolve({ isListening: true, printed });
      })
      .once('close', () => resolve({ isListening: false, printed }));
  });
}

async function ended(server: ChildProcessWithoutNullStreams): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exit = once(server, 'exit');
  server.stdin.end();
  await exit;
}

/** The client has no other settings, keys, agents and hosts than these. */
function clientConfiguration(folder: string, port: number): string {
  return lines(
    `Host ${HOST}`,
    ...['HostName 127.0.0.1', `Port ${port}`, `User ${userInfo().username}`, `HostKeyAlias ${HOST}`],
    ...[`IdentityFile ${folder}/user_key`, 'IdentitiesOnly yes', 'IdentityAgent none'],
    ...[`UserKnownHostsFile ${folder}/known_hosts`, 'GlobalKnownHostsFile none', 'CheckHostIP no'],
    `ControlPath ${folder}/kept/%C`,
  );
}

function serverConfiguration(folder: string, port: number): string {
  return lines(
    ...[`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${folder}/host_key`, 'PidFile none'],
    ...[`AuthorizedKeysFile ${folder}/authorized_keys`, 'StrictModes no', 'UsePAM no'],
    ...['PermitRootLogin yes', 'PasswordAuthentication yes', 'KbdInteractiveAuthentication no'],
    // Tests begin many connections at the same time.
    ...['MaxStartups 200', 'MaxSessions 200', 'UseDNS no', 'PrintMotd no'],
  );
}

function lines(...all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
