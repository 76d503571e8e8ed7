/** A realm for one job: built-in objects and a simulator of its own, in a thread that is kept for many jobs. */
import { randomFillSync } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type vm from 'node:vm';
import type { ExecuteBatchJobParams } from '@workbench-hub/shared/instance-protocol/messages';
import { OpenHostFiles, shownFolders } from './host-files.js';
import type { JobPlace } from './job.js';
import { type KeptSimulator, newRealm } from './kept-simulator.js';
import type { Send } from './output-channel.js';
import { bytesFrom, choiceFrom, textFrom, textOf } from './realm-border.js';
import type {
  RealmCalls,
  RealmSettings,
  SimulatorImports,
  SimulatorLink,
  ThreadCalls,
  ThrownDescription,
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
  ThrownInRealm,
} from './script-failure.js';
import { looksAtNames } from './script-needs.js';
import { shownValue } from './shown-value.js';

const STREAMS = ['stdout', 'stderr'] as const;

/** Opens the realm of a job. The first one starts the compiled simulator, and is for no job. */
export async function openJobRealm(
  sources: RealmSources,
  simulator: KeptSimulator,
  send: Send,
): Promise<JobPlace> {
  const realm = newRealm();
  const job = new JobState();
  const evaluate = simulator.registrations ? sources.evaluateForRealm : sources.evaluate;
  const calls: RealmCalls = sources.openRealm(realm)(
    threadCalls(job, (expression) => evaluate(expression, realm), send),
    sources.simulatorScript(realm),
    linkTo(simulator, realm, sources),
  );
  while (job.loaded === undefined) await nextTurn();
  if (job.loaded.failure !== undefined) {
    throw new Error(`the simulator was not loaded: ${job.loaded.failure}`);
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
        const calls = registrations.laterCalls(textFrom(key));
        return calls && JSON.stringify(calls);
      },
      laterKeys: () => JSON.stringify(registrations.laterKeys()),
    },
  };
}

/** State of a realm and its job. */
class JobState {
  readonly files = new OpenHostFiles();
  loaded: { failure?: string | undefined } | undefined;
  workingDirectory = '';
  fileError: unknown;
  /** Takes the end of the running script, with a description of what it has thrown. */
  scriptEnded: (thrown?: string) => void = () => undefined;
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

function threadCalls(job: JobState, evaluate: ThreadCalls['evaluate'], send: Send): ThreadCalls {
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
    evaluate: (expression) => evaluate(textFrom(expression)),
    now: () => performance.now(),
    randomByte: () => randomFillSync(new Uint8Array(1))[0] as number,
    loaded: (failure) => {
      job.loaded = { failure };
    },
    write: (stream, text) => {
      if (!job.isOver) send(choiceFrom(stream, STREAMS), textFrom(text));
    },
    show: (description, depth) =>
      orUndefined(() => shownValue(textFrom(description), typeof depth === 'number' ? depth : 0)),
    readFile: (name) => orUndefined(() => fs.readFileSync(resolved(textFrom(name)), 'utf8')),
    writeFile: (name, content) =>
      orUndefined(() => {
        fs.writeFileSync(
          resolved(textFrom(name)),
          typeof content === 'string' ? content : bytesFrom(content),
        );
        return true;
      }) ?? false,
    fileError: () => {
      const { name, message, ...details } = job.fileError as Error;
      return JSON.stringify({ name, message, ...details });
    },
    returned: () => job.scriptEnded(),
    threw: (description) => job.scriptEnded(textFrom(description)),
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
  let ended: { thrown?: string } | undefined;
  const end = (thrown?: string) => {
    if (ended?.thrown === undefined) ended = thrown === undefined ? {} : { thrown };
  };
  const threw = (error: unknown) => end(textOf(() => calls.describeThrown(error)) ?? '{}');
  process.on('uncaughtException', threw);
  // Node.js would look at the reason itself.
  process.on('unhandledRejection', threw);
  job.scriptEnded = end;
  try {
    calls.run(compiled.runInContext(realm) as ScriptFunction);
  } catch (error) {
    // A text that ends the function of the script begins to run at once.
    threw(error);
  }
  await nextTurn();
  process.off('uncaughtException', threw);
  process.off('unhandledRejection', threw);
  if (ended?.thrown !== undefined) return failureOf(thrownFrom(ended.thrown), script);
  return ended ? undefined : failureOf(NEVER_SETTLED, script);
}

function thrownFrom(description: string): ScriptExit | ThrownInRealm {
  const { exitCode, error, shown } = JSON.parse(description) as ThrownDescription;
  return typeof exitCode === 'number' ? new ScriptExit(exitCode) : new ThrownInRealm(error, shown);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
