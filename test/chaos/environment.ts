/** File systems and network links of a run, as far as the machine allows, in namespaces that end with it. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Set in the process that runs in namespaces of its own. */
const INSIDE = 'CHAOS_INSIDE';

const UNSHARE = ['unshare', '--map-root-user', '--mount', '--net'];
/** PostgreSQL refuses to run as root, and a namespace of users with root alone has no other. */
const UNSHARE_AS_ROOT = ['unshare', '--mount', '--net'];
const DISK_MEBIBYTES = 48;
const PIECE_BYTES = 64 * 1024;
const HUB_ADDRESS = '10.77.0.1';
const AGENT_ADDRESS = '10.77.0.2';
const LINK = 'chaos0';

/** Runs this program once more in namespaces of its own; resolves with its exit code, or undefined when it has them already, or may not.
 *  With `needsUsers`, the users of this machine stay; only root may do that. `stopped` ends the program. */
export async function runInside(
  { needsUsers }: { readonly needsUsers: boolean },
  stopped: AbortSignal,
): Promise<number | undefined> {
  if (process.env[INSIDE] !== undefined) return undefined;
  if (needsUsers && process.getuid?.() !== 0) return undefined;
  const [command = '', ...words] = needsUsers ? UNSHARE_AS_ROOT : UNSHARE;
  if (spawnSync(command, [...words, 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status !== 0) return undefined;
  const env = { ...process.env, [INSIDE]: 'yes' };
  const child = spawn(command, [...words, process.execPath, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env,
  });
  const onStop = () => void child.kill('SIGTERM');
  stopped.addEventListener('abort', onStop, { once: true });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  stopped.removeEventListener('abort', onStop);
  if (signal && !stopped.aborted) console.error(`no summary: the run was ended from outside, by ${signal}`);
  return code ?? 1;
}

/** A small file system that can be filled. */
export class SmallDisk {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Mounts one at `folder`; undefined where that is not allowed. */
  static at(folder: string): SmallDisk | undefined {
    if (process.env[INSIDE] === undefined) return undefined;
    mkdirSync(folder, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEBIBYTES}m`, 'tmpfs', folder]);
    return new SmallDisk(folder);
  }

  /** Fills the free space, while others may write. */
  fill(): void {
    const piece = Buffer.alloc(PIECE_BYTES, 1);
    try {
      for (;;) appendFileSync(join(this.#folder, 'filler'), piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }

  makeRoom(): void {
    rmSync(join(this.#folder, 'filler'), { force: true });
  }

  remove(): void {
    execFileSync('umount', ['--lazy', this.#folder]);
  }
}

/** A link to another host, which is a network namespace of its own. */
export class NetworkLink {
  readonly #host: ChildProcess;
  /** Whether the kernel can delay and drop its packets. */
  readonly canLose: boolean;

  private constructor(host: ChildProcess, canLose: boolean) {
    this.#host = host;
    this.canLose = canLose;
  }

  /** Command that runs a program on the other host. */
  get by(): string[] {
    return ['nsenter', `--net=/proc/${this.#host.pid}/ns/net`, '--'];
  }

  /** The address of this host for the other one. */
  readonly hubAddress = HUB_ADDRESS;

  /** Undefined where that is not allowed. */
  static async make(): Promise<NetworkLink | undefined> {
    if (process.env[INSIDE] === undefined) return undefined;
    ip('link', 'set', 'lo', 'up');
    const host = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec sleep infinity'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await new Promise((resolve) => host.stdout?.once('data', resolve));
    try {
      ip('link', 'add', LINK, 'type', 'veth', 'peer', 'name', 'chaos1');
      ip('link', 'set', 'chaos1', 'netns', String(host.pid));
      ip('address', 'add', `${HUB_ADDRESS}/24`, 'dev', LINK);
      ip('link', 'set', LINK, 'up');
      const [command = '', ...words] = new NetworkLink(host, false).by;
      const there = (...args: string[]) => execFileSync(command, [...words, 'ip', ...args]);
      there('link', 'set', 'lo', 'up');
      there('address', 'add', `${AGENT_ADDRESS}/24`, 'dev', 'chaos1');
      there('link', 'set', 'chaos1', 'up');
    } catch {
      host.kill('SIGKILL');
      return undefined;
    }
    const canLose =
      spawnSync('tc', ['qdisc', 'add', 'dev', LINK, 'root', 'netem', 'delay', '0ms']).status === 0;
    return new NetworkLink(host, canLose);
  }

  takeDown(): void {
    ip('link', 'set', LINK, 'down');
  }

  takeUp(): void {
    ip('link', 'set', LINK, 'up');
  }

  disturb(): void {
    const loss = ['delay', '40ms', '20ms', 'loss', '5%'];
    execFileSync('tc', ['qdisc', 'replace', 'dev', LINK, 'root', 'netem', ...loss]);
  }

  calm(): void {
    execFileSync('tc', ['qdisc', 'replace', 'dev', LINK, 'root', 'netem', 'delay', '0ms']);
  }

  remove(): void {
    this.#host.kill('SIGKILL');
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: 'ignore' });
}
