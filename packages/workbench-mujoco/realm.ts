/** A realm for one job: built-in objects and a simulator of its own, in a thread that is kept for many jobs. */
import { randomFillSync } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { formatWithOptions, inspect } from 'node:util';
import type vm from 'node:vm';
import type { ExecuteBatchJobParams } from '@workbench-hub/shared/instance-protocol/messages';
import { OpenHostFiles, shownFolders } from './host-files.js';
import type { JobPlace } from './job.js';
import { type KeptSimulator, newRealm } from './kept-simulator.js';
import type { Send } from './output-channel.js';
import type {
  RealmCalls,
  RealmSettings,
  SimulatorImports,
  SimulatorLink,
  ThreadCalls,
} from './realm-calls.js';
import type { RealmSources } from './realm-sources.js';
import { asFunction, type ScriptFunction } from './script.js';
import {
  failureOf,
  NEVER_SETTLED,
  type Script,
  ScriptExit,
  type ScriptFailure,
  scriptPath,
} from './script-failure.js';
import { looksAtNames } from './script-needs.js';

/** Options of inspection: a method of the script would be given objects of the thread. */
const WITHOUT_OWN_METHODS = { customInspect: false };

/** Opens the realm of a job. The first one starts the compiled simulator, and is for no job. */
export async function openJobRealm(
  sources: RealmSources,
  simulator: KeptSimulator,
  send: Send,
): Promise<JobPlace> {
  const realm = newRealm();
  const job = new JobState();
  const calls: RealmCalls = sources.openRealm(realm)(
    threadCalls(job, realm, sources, send),
    sources.simulatorScript(realm),
    linkTo(simulator, realm, sources),
  );
  while (job.loaded === undefined) await nextTurn();
  if (job.loaded.failure !== undefined) {
    throw new Error(`the simulator was not loaded: ${String(job.loaded.failure)}`, {
      cause: job.loaded.failure,
    });
  }
  const mujoco = calls.mujoco();

  return {
    mujoco,
    begin({ workingDirectory }, scripts) {
      if (scripts.some(looksAtNames)) calls.registerAll();
      job.workingDirectory = workingDirectory;
      calls.showFiles(JSON.stringify(shownFolders(workingDirectory)));
    },
    defineGlobals(params, loaded) {
      calls.defineGlobals(JSON.stringify(realmSettings(params)), loaded?.model, loaded?.data);
    },
    runScript: (script, workingDirectory) => runInRealm(script, workingDirectory, realm, calls, job),
    end() {
      job.isOver = true;
      job.files.closeAll();
    },
  };
}

function linkTo(simulator: KeptSimulator, realm: vm.Context, sources: RealmSources): SimulatorLink {
  const { exports, registrations } = simulator;
  const attach = (imports: SimulatorImports) => simulator.attach(imports);
  if (!registrations) return { exports, attach };
  return {
    exports,
    attach,
    registered: {
      general: sources.evaluate(registrations.general, realm),
      laterCalls: (key) => {
        const calls = registrations.laterCalls(key);
        return calls && JSON.stringify(calls);
      },
      laterKeys: () => JSON.stringify(registrations.laterKeys()),
    },
  };
}

/** State of a realm and its job. */
class JobState {
  readonly files = new OpenHostFiles();
  loaded: { failure?: unknown } | undefined;
  workingDirectory = '';
  fileError: unknown;
  /** Takes the end of the running script. */
  scriptEnded: (thrown?: { error: unknown }) => void = () => undefined;
  isOver = false;
}

/** Environment of the thread, which stays as it is (thread-check.ts). */
const ownEnvironment = { ...process.env };

function realmSettings({ workingDirectory, variables, environment }: ExecuteBatchJobParams): RealmSettings {
  return {
    workingDirectory,
    variables,
    environment: { ...ownEnvironment, ...environment } as Record<string, string>,
  };
}

function threadCalls(job: JobState, realm: vm.Context, sources: RealmSources, send: Send): ThreadCalls {
  const orUndefined = <T>(call: () => T): T | undefined => {
    try {
      return call();
    } catch (error) {
      job.fileError = error;
      return undefined;
    }
  };
  const resolved = (name: string) => path.resolve(job.workingDirectory, name);
  return {
    files: job.files,
    evaluate: (expression) => sources.evaluate(expression, realm),
    now: () => performance.now(),
    randomByte: () => randomFillSync(new Uint8Array(1))[0] as number,
    loaded: (failure) => {
      job.loaded = { failure };
    },
    write: (stream, text) => {
      if (!job.isOver) send(stream, text);
    },
    inspect: (value) => orUndefined(() => inspect(value, WITHOUT_OWN_METHODS)),
    format: (...values) => orUndefined(() => formatWithOptions(WITHOUT_OWN_METHODS, ...values)),
    readFile: (name) => orUndefined(() => fs.readFileSync(resolved(name), 'utf8')),
    writeFile: (name, content) =>
      orUndefined(() => {
        fs.writeFileSync(resolved(name), content);
        return true;
      }) ?? false,
    fileError: () => {
      const { name, message, ...details } = job.fileError as Error;
      return JSON.stringify({ name, message, ...details });
    },
    returned: () => job.scriptEnded(),
    threw: (error) => job.scriptEnded({ error }),
  };
}

/** Runs one script to its end. In a realm everything that it began has happened in the turn in which it was called. */
async function runInRealm(
  script: Script,
  workingDirectory: string,
  realm: vm.Context,
  calls: RealmCalls,
  job: JobState,
): Promise<ScriptFailure | undefined> {
  const compiled = asFunction(script.source, `${scriptPath(workingDirectory, script)}.cjs`, {});
  if (compiled instanceof SyntaxError) return failureOf(compiled, script);
  let isOver = false;
  const thrown = await new Promise<{ error: unknown } | undefined>((resolve) => {
    const uncaught = (error: unknown) => resolve({ error });
    process.on('uncaughtException', uncaught);
    job.scriptEnded = (end) => {
      isOver = true;
      if (end) resolve(end);
    };
    setImmediate(() => {
      process.off('uncaughtException', uncaught);
      resolve(isOver ? undefined : { error: NEVER_SETTLED });
    });
    calls.run(compiled.runInContext(realm) as ScriptFunction);
  });
  if (!thrown) return undefined;
  const exitCode = calls.exitCodeOf(thrown.error);
  return failureOf(exitCode === undefined ? thrown.error : new ScriptExit(exitCode), script);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
