/** The sandbox of the program bubblewrap (`bwrap`), which creates namespaces as an ordinary user. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { PreparedDirectory } from '../core/ports/workspace.js';
import type { SandboxSettings } from '../core/sandbox.js';
import type { FoundSandbox, Surroundings } from './sandbox.js';
import { mountOptions, SANDBOX_HOME, SANDBOX_TMP } from './sandbox-mounts.js';

const TEST_LIMIT_MS = 20_000;

/** Variables that a sandbox inherits. All others are for the agent only, or are set by `env` of the instance. */
const INHERITED = /^(?:PATH|LANG|LANGUAGE|LC_.*|TZ)$/;

const run = promisify(execFile);

/** Finds the program; returns a sentence when it is missing or too old. Never rejects. */
export async function openBubblewrap(
  environment: Readonly<Record<string, string>>,
  surroundings: Surroundings,
): Promise<FoundSandbox> {
  const program = findBubblewrap(environment['PATH'] ?? '');
  if (program === undefined) return { fault: NOT_INSTALLED };
  let help: string;
  try {
    help = (await run(program, ['--help'], { timeout: TEST_LIMIT_MS })).stdout;
  } catch (error) {
    return { fault: `${program} does not run: ${(error as Error).message}` };
  }
  const lacks = NEEDED_OPTIONS.filter((option) => !help.includes(`${option} `));
  if (lacks.length > 0) {
    return { fault: `${program} is too old, it has no ${lacks.join(', ')}: install bubblewrap 0.4 or newer` };
  }
  const fixed = fixedOptions(help);
  const visible: Surroundings = {
    hidden: [...new Set((await Promise.all(surroundings.hidden.map(bothNames))).flat())],
    readable: [...new Set((await Promise.all(surroundings.readable.map(bothNames))).flat())],
  };

  const options = (command: readonly string[], directory: PreparedDirectory, settings: SandboxSettings) => [
    ...fixed,
    ...(settings.network ? ['--share-net'] : []),
    ...mountOptions(command, directory, settings, visible),
    ...['--remount-ro', '/', '--chdir', SANDBOX_HOME],
  ];
  return {
    sandbox: {
      wrap: (command, directory, settings) => [
        program,
        ...options(command, directory, settings),
        ...['--info-fd', '3', '--'],
        ...command,
      ],
      environment: (inherited) => ({
        ...Object.fromEntries(Object.entries(inherited).filter(([name]) => INHERITED.test(name))),
        HOME: SANDBOX_HOME,
        TMPDIR: SANDBOX_TMP,
      }),
      test: async (directory, settings) => {
        const command = ['true'];
        try {
          await run(program, [...options(command, directory, settings), '--', ...command], {
            timeout: TEST_LIMIT_MS,
          });
          return null;
        } catch (error) {
          const { stderr = '', message } = error as Error & { stderr?: string };
          return whyNot(stderr.trim() === '' ? message : stderr.trim());
        }
      },
    },
  };
}

const NOT_INSTALLED =
  'the program bwrap is not in the PATH of this agent: install the package bubblewrap ("apt-get install bubblewrap", "dnf install bubblewrap")';

const NEEDED_OPTIONS = [
  '--unshare-all',
  '--die-with-parent',
  '--new-session',
  '--info-fd',
  '--ro-bind-try',
  '--remount-ro',
];

/** Options of every sandbox. */
function fixedOptions(help: string): string[] {
  return [
    // A separate user namespace also for root, for whom it is otherwise omitted.
    ...['--unshare-user', '--unshare-all', '--die-with-parent'],
    // SIGTERM then reaches the program, and not bubblewrap, which would end everything at once.
    '--new-session',
    ...['--cap-drop', 'ALL'],
    ...(help.includes('--disable-userns ') ? ['--disable-userns'] : []),
  ];
}

function findBubblewrap(path: string): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (!folder.startsWith('/')) continue;
    const program = join(folder, 'bwrap');
    try {
      accessSync(program, constants.X_OK);
      return program;
    } catch {
      // Not here: try the next folder.
    }
  }
  return undefined;
}

/** A path as given, and with its links resolved. */
async function bothNames(path: string): Promise<string[]> {
  const real = await realpath(path).catch(() => path);
  return real === path ? [path] : [path, real];
}

/** Turns bubblewrap's message into a sentence with a remedy. */
export function whyNot(said: string, read: (path: string) => string | undefined = readSetting): string {
  const advice = adviceFor(said, read);
  return `bwrap does not work here: ${said.split('\n').at(-1)}${advice === '' ? '' : `; ${advice}`}`;
}

const NAME_SPACES = /namespace|uid map|unshare|RTM_NEWADDR|disabling sandbox|pivot_root/i;

function adviceFor(said: string, read: (path: string) => string | undefined): string {
  const missing = /Can't find source path (.*): No such file/.exec(said)?.[1];
  if (missing !== undefined) return `correct "sandbox" of the instance: ${missing} is not on this host`;
  if (/mount proc/i.test(said)) {
    return (
      'this process may not mount /proc: in a unit of systemd leave out ProtectKernelTunables, ProtectKernelLogs and ProcSubset; ' +
      'in a container run it with "--security-opt systempaths=unconfined", or use the container as the sandbox'
    );
  }
  if (!NAME_SPACES.test(said)) return '';
  if (read('/proc/sys/user/max_user_namespaces') === '0') {
    return 'user namespaces are off: run "sysctl user.max_user_namespaces=10000" as root, and keep it in /etc/sysctl.d';
  }
  if (read('/proc/sys/kernel/unprivileged_userns_clone') === '0') {
    return 'user namespaces are for root only: run "sysctl kernel.unprivileged_userns_clone=1" as root, and keep it in /etc/sysctl.d';
  }
  if (read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1') {
    return (
      'AppArmor allows user namespaces only to programs with a profile: as root put a profile for bwrap with "userns," into ' +
      '/etc/apparmor.d (Ubuntu: install the package apparmor-profiles, and link bwrap-userns-restrict from ' +
      '/usr/share/apparmor/extra-profiles), then run "systemctl reload apparmor"'
    );
  }
  return (
    'this process may not create namespaces: in a unit of systemd leave out RestrictNamespaces; in a container run it with ' +
    '"--security-opt seccomp=unconfined --security-opt apparmor=unconfined", or use the container as the sandbox'
  );
}

function readSetting(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}
