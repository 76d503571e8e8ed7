/**
 * Globals of the scripts in a realm.
 *
 * The compiled text of this file is evaluated in the realm (realm-sources.ts): beside other such files it imports types only.
 */

import type { AnyFunction, RealmSettings, ThreadCalls } from './realm-calls.js';
import { guarded } from './realm-guard.js';

/** Thrown by `process.exit`. */
export class RealmExit extends Error {
  override readonly name = 'ScriptExit';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the script exited with code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** A console as Node.js has it, as far as {@link ThreadCalls.format} formats. */
export function realmConsole(write: ThreadCalls['write'], format: ThreadCalls['format']) {
  const writer =
    (stream: 'stdout' | 'stderr') =>
    (...values: unknown[]) =>
      write(stream, `${shown(format(...values))}\n`);
  const [toOutput, toErrors] = [writer('stdout'), writer('stderr')];
  return { log: toOutput, info: toOutput, debug: toOutput, warn: toErrors, error: toErrors };
}

function shown(text: string | undefined): string {
  if (text === undefined) throw new TypeError('a value cannot be shown as text');
  return text;
}

/** Globals of a job's scripts beside the simulator's, and the job's variables. */
export function scriptGlobals(
  thread: ThreadCalls,
  { workingDirectory, variables, environment }: RealmSettings,
) {
  const write = guarded(thread.write);
  const inspect = guarded(thread.inspect);
  const [readText, writeText, fileError] = [thread.readFile, thread.writeFile, thread.fileError].map((call) =>
    guarded(call as AnyFunction),
  ) as [ThreadCalls['readFile'], ThreadCalls['writeFile'], ThreadCalls['fileError']];
  const text = (values: unknown[]) =>
    values.map((value) => (typeof value === 'string' ? value : shown(inspect(value)))).join(' ');
  return {
    variables,
    workingDirectory,
    console: realmConsole(write, guarded(thread.format)),
    process: {
      env: new Proxy(environment, { set: (target, name, value) => Reflect.set(target, name, `${value}`) }),
      exit(code: unknown = 0): never {
        throw new RealmExit(Number(code));
      },
    },
    print: (...values: unknown[]) => write('stdout', text(values)),
    println: (...values: unknown[]) => write('stdout', `${text(values)}\n`),
    readFile(name: string): string {
      const content = readText(name);
      if (content === undefined) throw ownError(fileError());
      return content;
    },
    writeFile(name: string, content: string | Uint8Array): void {
      if (!writeText(name, content)) throw ownError(fileError());
    },
  };
}

/** Error of the realm with the properties of one of the thread. */
function ownError(json: string): Error {
  const { name, message, ...details } = JSON.parse(json) as { name: string; message: string };
  const error = name === 'TypeError' ? new TypeError(message) : new Error(message);
  return Object.assign(error, details);
}

/** Also replaces read-only globals, except undefined, NaN and Infinity. */
export function define(target: object, name: string, value: unknown): void {
  Reflect.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
