/** Starts the agent: by the launcher where a hub may update it, otherwise in this process. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fullness } from '@workbench-hub/agent/core/disk-space';
import { isHostExhausted } from '@workbench-hub/agent/core/host-fault';
import {
  type FromLauncher,
  LAUNCH_VARIABLE,
  type Launch,
  type ToLauncher,
} from '@workbench-hub/agent/core/ports/launcher';
import { stateFor } from '@workbench-hub/agent/core/version-states';
import { spaceOf } from '@workbench-hub/agent/disk/free-space';
import {
  programOf,
  readVersionState,
  versionsFolder,
  writeVersionState,
} from '@workbench-hub/agent/disk/version-folders';
import { MAX_UPDATE_LOG_LENGTH } from '@workbench-hub/shared/domain/agent-update';
import { pinnedKeysFile } from '@workbench-hub/shared/hub-link/pinned-keys';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { RELOADS_ON_HANG_UP, STOP_SIGNALS } from '@workbench-hub/shared/runtime/stop-signals';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { dataDirOf, readArguments } from './launch-arguments.js';
import { type AgentEnd, type LaunchedAgent, Launcher } from './launcher.js';
import { runModuleInside } from './module-inside.js';
import { ownProgram } from './own-program.js';

const AGENT = 'agent.cjs';
/** Build of the installed file. */
const BUILD = `${buildInfo.version} ${buildInfo.revision} ${buildInfo.buildDate}`;

const HUB_ANSWER_LIMIT_MS = 2000;
/** Timers of the runtime keep no process alive. */
const KEEP_ALIVE_MS = 60_000;

void start(process.argv.slice(2));

async function start(args: readonly string[]): Promise<void> {
  const { config, isStart, isServiceCommand, service, ofAgent } = readArguments(args);
  if (isServiceCommand) return runModuleInside(AGENT);
  if (service !== null) return launchAsService(service, config, ofAgent);
  const dataDir = config === null && !isStart ? null : dataDirOf(config, process.env);
  if (dataDir === null) return runModuleInside(AGENT);
  const folder = versionsFolder(dataDir);
  const current = await currentVersion(folder);
  if (isStart && (current !== null || existsSync(pinnedKeysFile(dataDir)))) return launch(folder, args);
  // Commands know the configuration that the agent knows, but no job gets the rights of an administrator who runs one.
  const program = current === null ? null : await ownProgram(programOf(folder, current));
  return program === null ? runModuleInside(AGENT) : passOn(program, args);
}

/** Null for the installed file, as when it was installed since, and when the state cannot be read, of which the launcher tells. */
function currentVersion(folder: string): Promise<string | null> {
  return readVersionState(folder).then(
    (state) => stateFor(BUILD, state).current,
    () => null,
  );
}

function passOn(program: string, args: readonly string[]): void {
  // With any value, the file does not start a launcher of its own.
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, [LAUNCH_VARIABLE]: '' } });
  child.once('error', () => runModuleInside(AGENT));
  child.once('exit', (exitCode) => {
    process.exitCode = exitCode ?? 1;
  });
}

async function launch(folder: string, args: readonly string[]): Promise<void> {
  const note = (sentence: string) => void process.stderr.write(`workbench-agent launcher: ${sentence}\n`);
  const launcher = await openLauncher(folder, args, note);
  setInterval(() => undefined, KEEP_ALIVE_MS);
  for (const signal of STOP_SIGNALS) process.on(signal, () => launcher.stop());
  process.exit(await launcher.run());
}

function openLauncher(
  folder: string,
  args: readonly string[],
  note: (sentence: string) => void,
  keepsLog = false,
) {
  return Launcher.open({
    installed: process.execPath,
    build: BUILD,
    start: (launched, onMessage) => startAgent(folder, args, { launched, keepsLog, onMessage }),
    isHubThere,
    hostFault: () => hostFault(dirname(folder)),
    readState: () => readVersionState(folder),
    writeState: (state) => writeVersionState(folder, state),
    runtime: systemRuntime,
    note,
  });
}

/** The launcher is the service, so that it can tell the end of each agent. Relative paths are in the folder of the configuration. */
async function launchAsService(name: string, config: string | null, args: readonly string[]): Promise<void> {
  if (config !== null) process.chdir(dirname(resolve(config)));
  // Imported on demand: only a service needs them.
  const { runLauncherAsService } = await import('./service/run-as-service.js');
  const dataDir = dataDirOf(config, process.env);
  const folder = versionsFolder(dataDir ?? process.cwd());
  // Without a data folder, those of the installation serve.
  const parts = dataDir ?? dirname(process.execPath);
  setInterval(() => undefined, KEEP_ALIVE_MS);
  process.exit(await runLauncherAsService(name, parts, (note) => openLauncher(folder, args, note, true)));
}

interface AgentStart {
  readonly launched: Launch;
  /** Whether the output of the installed version is kept, too. */
  readonly keepsLog: boolean;
  readonly onMessage: (message: ToLauncher) => void;
}

/** The agent as a child, whose output is passed on; that of a version from a hub is kept as well. */
function startAgent(
  folder: string,
  args: readonly string[],
  { launched, keepsLog, onMessage }: AgentStart,
): LaunchedAgent {
  const { version } = launched;
  const output = version === null && !keepsLog ? 'inherit' : 'pipe';
  const child = spawn(version === null ? process.execPath : programOf(folder, version), args, {
    stdio: ['inherit', output, output, 'ipc'],
    env: { ...process.env, [LAUNCH_VARIABLE]: JSON.stringify(launched) },
    windowsHide: true,
  });
  let log = '';
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    to.on('error', () => undefined);
    from?.pipe(to, { end: false });
    from?.on('data', (chunk: Buffer) => {
      log = `${log}${chunk.toString()}`.slice(-MAX_UPDATE_LOG_LENGTH);
    });
  }
  const ended = new Promise<AgentEnd>((resolve) => {
    child.once('error', (error) =>
      resolve({ exitCode: null, signal: null, fault: error.message, isOfHost: isHostExhausted(error) }),
    );
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  child.on('message', (message) => onMessage(message as ToLauncher));
  if (RELOADS_ON_HANG_UP) {
    const hangUp = () => void child.kill('SIGHUP');
    process.on('SIGHUP', hangUp);
    void ended.then(() => process.off('SIGHUP', hangUp));
  }
  return {
    ended,
    log: () => log,
    // An agent that has just ended takes no message.
    send: (message: FromLauncher) => void (child.connected && child.send(message, () => undefined)),
    kill: () => void child.kill('SIGKILL'),
  };
}

/** Looks whether the disks on which agents write have room; a disk that cannot be asked is left to the agent. */
async function hostFault(dataDir: string): Promise<string | null> {
  const asked = [spaceOf(dataDir, 'the data of the agent'), spaceOf(tmpdir(), 'temporary files')];
  const answers = await Promise.allSettled(asked);
  const full = fullness(answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : [])));
  return full === undefined ? null : `the disk of its host is full: ${full}`;
}

/** Any hub counts that answers: certificates are a matter of the agent. */
function isHubThere(livenessUrl: string): Promise<boolean> {
  return new Promise((answer) => {
    const get = livenessUrl.startsWith('https:') ? getHttps : getHttp;
    const options = { rejectUnauthorized: false, timeout: HUB_ANSWER_LIMIT_MS };
    const request = get(livenessUrl, options, (response) => {
      response.resume();
      answer(response.statusCode === 200);
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => answer(false));
  });
}
