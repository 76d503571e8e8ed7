/**
 * Environment of programs and scripts. An injected variable may not steer the programs that a script starts:
 * such a variable reaches the script by WORKBENCH_VARIABLES and as a global only (contract 3.10). So does one that is too large.
 */

import type { Variable } from '@workbench-hub/shared/domain/job';
import { ENVIRONMENT_IGNORES_CASE } from './host-names.js';

export interface JobPaths {
  /** Absolute path of the model, or null when the job has none. */
  readonly model: string | null;
  /** Absolute path of the JSON file with all variables; null for a bundle, whose points differ in them. */
  readonly variables: string | null;
  /** Absolute path of the folder from which files go to the output storage; null for a bundle, whose points would share it. */
  readonly outputStorage: string | null;
  /** Absolute path of the folder whose files the next attempt gets; null for a bundle, whose points would share it. */
  readonly checkpoint: string | null;
}

/** Variables added to the environment of every script of a job. */
export function jobEnvironment(
  taskId: string,
  variables: readonly Variable[],
  paths: JobPaths,
): Record<string, string> {
  const environment = injectedEnvironment(variables);
  environment['WORKBENCH_TASK_ID'] = taskId;
  if (paths.model !== null) environment['WORKBENCH_MODEL'] = paths.model;
  if (paths.variables !== null) environment['WORKBENCH_VARIABLES'] = paths.variables;
  if (paths.outputStorage !== null) environment['WORKBENCH_OUTPUT_STORAGE'] = paths.outputStorage;
  if (paths.checkpoint !== null) environment['WORKBENCH_CHECKPOINT'] = paths.checkpoint;
  return environment;
}

/** Largest variable with its name, and all of them, in bytes: Linux starts no program with more than 128 KiB in one variable, nor with
 *  more than a quarter of the stack's limit, 2 MiB by default, in all variables and arguments (execve(2)). */
const MAX_BYTES = { one: 128 * 1024, all: 1024 * 1024 } as const;

/** Variables that may stand in the environment of scripts, as far as there is room; `ignoresCase` where `Path` and `PATH` are one variable. */
export function injectedEnvironment(
  variables: readonly Variable[],
  ignoresCase: boolean = ENVIRONMENT_IGNORES_CASE,
): Record<string, string> {
  const environment: Record<string, string> = {};
  let leftBytes: number = MAX_BYTES.all;
  for (const { key, value } of variables) {
    if (!mayBeInjected(key, ignoresCase) || value.includes('\0')) continue;
    // With the equals sign and the NUL at the end.
    const bytes = Buffer.byteLength(key) + Buffer.byteLength(value) + 2;
    if (bytes > Math.min(MAX_BYTES.one, leftBytes)) continue;
    leftBytes -= bytes;
    environment[key] = value;
  }
  return environment;
}

/** All variables as one object; `Object.fromEntries` keeps a key such as `__proto__` as data. */
export function variablesObject(variables: readonly Variable[]): Record<string, string> {
  return Object.fromEntries(variables.map(({ key, value }) => [key, value]));
}

/** True for a name that may stand in a script's environment. */
function mayBeInjected(key: string, ignoresCase: boolean): boolean {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) return false;
  if (/_proxy$/i.test(key)) return false; // read in either case
  if (!ignoresCase)
    return !STEERING_NAMES.has(key) && !STEERING_PREFIXES.some((prefix) => key.startsWith(prefix));
  const name = key.toUpperCase();
  return (
    !STEERING_NAMES.has(name) && !STEERING_PREFIXES.some((prefix) => name.startsWith(prefix.toUpperCase()))
  );
}

/** Names by which shells, loaders, interpreters and common tools learn what to load, run or trust. */
const STEERING_NAMES: ReadonlySet<string> = new Set([
  // locations of programs and home directories
  ...['PATH', 'PATHEXT', 'HOME', 'PWD', 'OLDPWD', 'CDPATH', 'USER', 'LOGNAME', 'USERNAME', 'USERPROFILE'],
  ...['TMPDIR', 'TMP', 'TEMP', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'HOMEDRIVE', 'HOMEPATH', 'Path'],
  ...['SYSTEMROOT', 'WINDIR', 'COMSPEC', 'SYSTEMDRIVE', 'PSMODULEPATH'],
  // shells
  ...[
    'SHELL',
    'IFS',
    'ENV',
    'BASH_ENV',
    'BASHOPTS',
    'SHELLOPTS',
    'PROMPT_COMMAND',
    'PS0',
    'PS1',
    'PS2',
    'PS4',
  ],
  ...['ZDOTDIR', 'FPATH', 'GLOBIGNORE', 'POSIXLY_CORRECT', '_'],
  // the C library and locale
  ...['LANG', 'LANGUAGE', 'TZ', 'TZDIR', 'LOCPATH', 'NLSPATH', 'HOSTALIASES', 'RES_OPTIONS', 'GCONV_PATH'],
  ...['MALLOC_TRACE', 'MALLOC_CONF', 'GETCONF_DIR', 'LOCALDOMAIN', 'RESOLV_HOST_CONF'],
  // terminal, editors and helpers that tools start
  ...['TERM', 'TERMCAP', 'TERMINFO', 'TERMINFO_DIRS', 'EDITOR', 'VISUAL', 'PAGER', 'MANPAGER', 'BROWSER'],
  ...['LESSOPEN', 'LESSCLOSE', 'DISPLAY', 'SUDO_ASKPASS', 'INPUTRC'],
  // interpreters and virtual machines
  ...['JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'JAVA_HOME', 'CLASSPATH', 'VIRTUAL_ENV'],
  ...['PERLLIB', 'LUA_INIT', 'LUA_PATH', 'LUA_CPATH', 'TCLLIBPATH', 'PHPRC', 'PHP_INI_SCAN_DIR', 'ERL_LIBS'],
  ...[
    'GEM_HOME',
    'GEM_PATH',
    'BUNDLE_GEMFILE',
    'JULIA_LOAD_PATH',
    'OCTAVE_PATH',
    'MATLABPATH',
    'CONDA_PREFIX',
  ],
  ...[
    'GUILE_LOAD_PATH',
    'AWKPATH',
    'AWKLIBPATH',
    'R_HOME',
    'R_PROFILE',
    'R_ENVIRON',
    'R_LIBS',
    'R_LIBS_USER',
  ],
  // network and trust
  ...['SSLKEYLOGFILE', 'OPENSSL_CONF'],
  ...['OPENSSL_MODULES', 'OPENSSL_ENGINES', 'CURL_HOME', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'WGETRC'],
  ...['NETRC', 'RSYNC_RSH', 'CVS_RSH', 'KRB5_CONFIG', 'KRB5CCNAME'],
  // builds
  ...[
    'MAKEFLAGS',
    'MFLAGS',
    'GCC_EXEC_PREFIX',
    'COMPILER_PATH',
    'LIBRARY_PATH',
    'GOROOT',
    'GOPATH',
    'GOFLAGS',
  ],
]);

const STEERING_PREFIXES: readonly string[] = [
  ...[
    'WORKBENCH_',
    'NODE_',
    'NPM_',
    'npm_',
    'PNPM_',
    'YARN_',
    'DENO_',
    'BUN_',
    'ELECTRON_',
    'PYTHON',
    'PIP_',
    'CONDA_',
  ],
  ...['PERL5', 'PERL_', 'RUBY', 'JAVA_', 'DOTNET_', 'CORECLR_', 'COMPLUS_', 'LD_', 'DYLD_', '_RLD', 'LC_'],
  ...['GLIBC_', 'GIT_', 'SSH_', 'SSL_', 'XDG_', 'SYSTEMD_', 'LISTEN_', 'NOTIFY_', 'BASH_FUNC_', 'CARGO_'],
];

/** Environment that instance programs inherit: without the agent's settings, which may hold its token, and without variables
 *  meant for the agent's process only. Where `Path` and `PATH` are one variable (`ignoresCase`), it is called `PATH`. */
export function inheritedEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  ignoresCase: boolean = ENVIRONMENT_IGNORES_CASE,
): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    const isPath = ignoresCase && name.toUpperCase() === 'PATH';
    if (value !== undefined && !NOT_INHERITED.test(name)) inherited[isPath ? 'PATH' : name] = value;
  }
  return inherited;
}

/** Variables of the agent's settings, of npm, of debuggers, and of systemd. */
const NOT_INHERITED =
  /^(?:WORKBENCH_.*|npm_.*|INIT_CWD|NODE_OPTIONS|NODE_CHANNEL_.*|NODE_UNIQUE_ID|NODE_V8_COVERAGE|INVOCATION_ID|JOURNAL_STREAM|NOTIFY_SOCKET|WATCHDOG_.*|LISTEN_.*|CREDENTIALS_DIRECTORY)$/;
