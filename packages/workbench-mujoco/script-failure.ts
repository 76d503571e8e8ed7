import path from 'node:path';
import { inspect, types } from 'node:util';

/** Failure of a script: for the task's result (after "script 1 of 2"), and in full for its log. */
export interface ScriptFailure {
  reason: string;
  details: string;
}

/** A script of a job, numbered from 1. */
export interface Script {
  readonly source: string;
  readonly number: number;
}

/** Thrown by `process.exit` in a script: a thread that really exits could not report its result. */
export class ScriptExit extends Error {
  override readonly name = 'ScriptExit';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the script exited with code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Thrown by a script in a realm: an error, or another value by its text. */
export class ThrownInRealm {
  readonly error: { name: string; message: string; stack: string } | undefined;
  readonly shown: string;

  constructor(error: { name: string; message: string; stack: string } | undefined, shown?: string) {
    this.error = error && { name: `${error.name}`, message: `${error.message}`, stack: `${error.stack}` };
    this.shown = typeof shown === 'string' ? shown : 'a value that cannot be shown';
  }
}

/** Stands for an error when a script can never end. */
export const NEVER_SETTLED = Symbol('the script awaits what nothing settles');

const OWN_FRAMES = new URL('.', import.meta.url).href;
const JAVASCRIPT_ONLY =
  'workbench-mujoco runs JavaScript only; Python scripts run on an instance of workbench-runner with ' +
  '"--interpreter python3" on a host with the Python package mujoco';
/** Lines that are valid in Python and not in JavaScript. */
const PYTHON =
  /^(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*, ]+|\s*(?:def|class|if|for|while|with) .*:|# .*)\s*$/m;

/** Path without extension under which the text of a script is known, in stacks and to the modules that it imports. The name is
 *  reserved (see the instance protocol). */
export function scriptPath(workingDirectory: string, { number }: Script): string {
  return path.join(workingDirectory, scriptName(number));
}

/** Failure of a script that names an interpreter other than Node.js. */
export function refusedInterpreter({ source }: Script): ScriptFailure | undefined {
  const interpreter = /^#!.*/.exec(source)?.[0];
  if (interpreter === undefined || /\bnode(js)?\b/.test(interpreter)) return undefined;
  return { reason: `begins with ${interpreter.trim()}, but ${JAVASCRIPT_ONLY}`, details: '' };
}

/** Failure of a script that has thrown this, or undefined if it means success. */
export function failureOf(thrown: unknown, script: Script): ScriptFailure | undefined {
  if (thrown instanceof ScriptExit && thrown.exitCode === 0) return undefined;
  const described = describe(thrown, script);
  const isPython = errorOf(thrown)?.name === 'SyntaxError' && PYTHON.test(script.source);
  return isPython ? { ...described, reason: `looks like Python, but ${JAVASCRIPT_ONLY}` } : described;
}

function errorOf(thrown: unknown): Error | ThrownInRealm['error'] {
  if (thrown instanceof ThrownInRealm) return thrown.error;
  return thrown instanceof Error || types.isNativeError(thrown) ? thrown : undefined;
}

function describe(thrown: unknown, { number }: Script): ScriptFailure {
  if (thrown === NEVER_SETTLED) return { reason: 'awaits a promise that nothing settles', details: '' };
  if (thrown instanceof ScriptExit) return { reason: `exited with code ${thrown.exitCode}`, details: '' };
  const error = errorOf(thrown);
  if (!error) {
    const shown = thrown instanceof ThrownInRealm ? thrown.shown : inspect(thrown, { customInspect: false });
    return { reason: `threw ${shown}`, details: '' };
  }
  const stack = String(error.stack ?? error)
    .split('\n')
    .filter((line) => !line.includes(OWN_FRAMES))
    .join('\n');
  const line = stack.split(`${scriptName(number)}.`)[1]?.match(/^[cm]js:(\d+)/)?.[1];
  const where = line === undefined ? '' : ` (line ${line})`;
  return { reason: `threw ${error.name}: ${String(error.message).trim()}${where}`, details: `${stack}\n` };
}

function scriptName(number: number): string {
  return `.workbench-script-${number}`;
}
