import {
  type ExecuteBatchJobParams,
  type ExecuteBatchJobResult,
  RPC_ERROR,
  RpcError,
} from '@workbench-hub/shared/instance-protocol/messages';
import type { InstanceProgram, JobContext } from '@workbench-hub/shared/instance-protocol/program';
import { groupGuard } from './group-guard.js';
import { type Interpreter, isNode, languageOf, missingProgram } from './interpreter.js';
import { type PlacedScript, placeScript, ScriptNotPlaced } from './placed-script.js';
import type { PreparedInterpreter, PrepareNode } from './script-node.js';
import { ScriptPipes } from './script-pipes.js';
import { runScriptProcess, type ScriptCommand, type ScriptEnd, type ScriptHost } from './script-process.js';
import type { HostSystem } from './systems/host-system.js';

/** Shared by all scripts of a runner. */
interface RunnerHost extends ScriptHost {
  readonly system: HostSystem;
  /** Interpreter of scripts without a `#!` line. */
  readonly interpreter: Interpreter;
  readonly prepareNode: PrepareNode;
  /** Inherited environment. */
  readonly environment: NodeJS.ProcessEnv;
}

/** The runner: one process for each script, in order, in the working directory. It keeps no state of instances. */
export function runnerProgram(
  version: string,
  interpreter: Interpreter,
  prepareNode: PrepareNode,
  system: HostSystem,
): InstanceProgram {
  const host: RunnerHost = {
    guard: groupGuard(),
    pipes: new ScriptPipes(),
    system,
    interpreter,
    prepareNode,
    // Python would otherwise leave __pycache__ among the outputs, and buffer its output until its end.
    environment: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONUNBUFFERED: '1' },
  };
  const language = languageOf(interpreter);
  return {
    name: 'workbench-runner',
    version,
    isShareable: true,
    startsScripts: true,
    ...(language === undefined ? {} : { runs: { scripts: [language] } }),
    async initialize() {
      host.guard.open();
      const missing = missingProgram(interpreter, process.env, process.cwd());
      // No reason to fail: scripts may name their own interpreters.
      if (missing !== undefined) console.error(`workbench-runner: ${interpreterMissing(missing)}`);
    },
    async executeBatchJob(params, context) {
      const count = params.scripts.length;
      for (const [index, script] of params.scripts.entries()) {
        if (context.signal.aborted) break;
        const name = `script ${index + 1} of ${count}`;
        const end = await runScript(script, index + 1, params, host, context).catch(notPlaced);
        if (end instanceof ScriptNotPlaced) {
          const message = `${name} could not be placed: ${end.message}`;
          // Before the first script only the host can have damaged the directory; later a script has.
          if (index === 0) throw new RpcError(RPC_ERROR.JOB_FAILED, message);
          return { status: 'ERROR', message };
        }
        if (end.exitCode !== 0) return failure(name, end);
      }
      return { status: 'OK' };
    },
    async shutdown() {
      host.guard.close();
    },
  };
}

/** Returns this one error as a value and rethrows any other. */
function notPlaced(error: unknown): ScriptNotPlaced {
  if (error instanceof ScriptNotPlaced) return error;
  throw error;
}

async function runScript(
  sourcePath: string,
  scriptNumber: number,
  { workingDirectory, environment: jobEnvironment }: ExecuteBatchJobParams,
  host: RunnerHost,
  context: JobContext,
): Promise<ScriptEnd> {
  const inherited = host.system.withVariables(host.environment, jobEnvironment);
  const surroundings = { interpreter: host.interpreter, system: host.system, environment: inherited };
  const script = placeScript(sourcePath, scriptNumber, workingDirectory, surroundings);
  try {
    const prepared = preparedFor(script, host, inherited);
    const { command, args } = prepared;
    const environment = host.system.withVariables(inherited, prepared.environment ?? {});
    const missing = missingProgram({ command, args: [...args] }, environment, workingDirectory);
    if (missing !== undefined) throw new RpcError(RPC_ERROR.JOB_FAILED, interpreterMissing(missing));
    const started = host.system.start({ command, args }, environment, workingDirectory);
    if ('fault' in started) throw new RpcError(RPC_ERROR.JOB_FAILED, started.fault);
    const run: ScriptCommand = { ...started, workingDirectory, environment };
    return await runScriptProcess(run, host, context).catch((error: NodeJS.ErrnoException) => {
      if (error.syscall?.startsWith('spawn') !== true) throw error;
      throw new RpcError(RPC_ERROR.JOB_FAILED, `${command} could not be started: ${error.message}`);
    });
  } finally {
    script.remove(context.log);
  }
}

/** The command that runs a script, with its path. */
function preparedFor(
  { path, ownInterpreter }: PlacedScript,
  host: RunnerHost,
  environment: NodeJS.ProcessEnv,
): PreparedInterpreter {
  if (ownInterpreter === null) return { command: path, args: [] };
  const prepared = ownInterpreter ?? withGlobals(host, environment);
  return { ...prepared, args: [...prepared.args, path] };
}

/** The instance's interpreter; for Node with the variables, `print` and `println` as globals. */
function withGlobals(
  { interpreter, prepareNode }: RunnerHost,
  environment: NodeJS.ProcessEnv,
): PreparedInterpreter {
  return isNode(interpreter) ? prepareNode(interpreter, environment) : interpreter;
}

function interpreterMissing(program: string): string {
  return (
    `the interpreter ${program} is not on this host: install it, or name another by --interpreter in the ` +
    "instance's command or by the script's #! line"
  );
}

function failure(script: string, { exitCode, signal }: ScriptEnd): ExecuteBatchJobResult {
  const how = signal === null ? `exited with code ${exitCode}` : `was ended by signal ${signal}`;
  return { status: 'ERROR', message: `${script} ${how}` };
}
