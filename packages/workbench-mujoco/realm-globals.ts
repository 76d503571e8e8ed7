/**
 * Globals of the scripts in a realm.
 *
 * The compiled text of this file is evaluated in the realm (realm-sources.ts): beside other such files it imports types only.
 */

import type { AnyFunction, RealmSettings, ThreadCalls } from './realm-calls.js';
import { describeValue } from './realm-description.js';
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

/** Texts of a script's values. */
export interface ValueTexts {
  /** As `util.inspect` gives it. Throws a TypeError when the value cannot be shown. */
  inspected(value: unknown, depth?: number): string;
  /** As `util.format` gives it. */
  formatted(values: readonly unknown[]): string;
}

/** Makes texts of values by {@link ThreadCalls.show}. */
export function valueTexts(show: ThreadCalls['show']): ValueTexts {
  const inspected = (value: unknown, depth = 2): string => {
    let text: string | undefined;
    try {
      text = show(describeValue(value, depth), depth);
    } catch {
      // A method of the value has failed.
    }
    if (text === undefined) throw new TypeError('a value cannot be shown as text');
    return text;
  };
  const asText = (value: unknown) => (typeof value === 'string' ? value : inspected(value));
  return {
    inspected,
    formatted([first, ...values]) {
      let left = values;
      let text = asText(first);
      if (typeof first === 'string' && values.length > 0) {
        text = first.replace(/%[sdifjoOc%]/g, (place) => {
          if (place === '%%') return '%';
          if (left.length === 0) return place;
          const [value, ...rest] = left;
          left = rest;
          return filledIn(place, value, inspected);
        });
      }
      for (const value of left) text += ` ${asText(value)}`;
      return text;
    },
  };
}

function filledIn(place: string, value: unknown, inspected: ValueTexts['inspected']): string {
  const number = (read: (text: string) => number) =>
    typeof value === 'symbol' ? 'NaN' : typeof value === 'bigint' ? `${value}n` : inspected(read(`${value}`));
  switch (place) {
    case '%s':
      if (typeof value === 'string' || (isObject(value) && hasOwnText(value))) return `${value as string}`;
      return inspected(value, 0);
    case '%d':
      return isObject(value) ? inspected(Number(value)) : number(Number);
    case '%i':
      return isObject(value) ? 'NaN' : number(Number.parseInt);
    case '%f':
      return typeof value === 'symbol' ? 'NaN' : inspected(Number.parseFloat(`${value as string}`));
    case '%j':
      return `${JSON.stringify(value)}`;
    case '%c':
      return '';
    default:
      return inspected(value, 4);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Whether a class of the script says how its objects are texts. */
function hasOwnText(value: object): boolean {
  const method: unknown = Reflect.get(value, 'toString');
  return (
    typeof method === 'function' &&
    ![Object, Array, Error, Date, RegExp].some(({ prototype }) => prototype.toString === method)
  );
}

/** A console as Node.js has it. */
export function realmConsole(write: ThreadCalls['write'], { formatted }: ValueTexts) {
  const writer =
    (stream: 'stdout' | 'stderr') =>
    (...values: unknown[]) =>
      write(stream, `${values.length === 0 ? '' : formatted(values)}\n`);
  const [toOutput, toErrors] = [writer('stdout'), writer('stderr')];
  return { log: toOutput, info: toOutput, debug: toOutput, warn: toErrors, error: toErrors };
}

/** Globals of a job's scripts beside the simulator's, and the job's variables. */
export function scriptGlobals(
  thread: ThreadCalls,
  texts: ValueTexts,
  { workingDirectory, variables, environment }: RealmSettings,
) {
  const write = guarded(thread.write);
  const [readText, writeText, fileError] = [thread.readFile, thread.writeFile, thread.fileError].map((call) =>
    guarded(call as AnyFunction),
  ) as [ThreadCalls['readFile'], ThreadCalls['writeFile'], ThreadCalls['fileError']];
  const text = (values: unknown[]): string => {
    let joined = '';
    for (const value of values) {
      joined += `${joined === '' ? '' : ' '}${typeof value === 'string' ? value : texts.inspected(value)}`;
    }
    return joined;
  };
  return {
    variables,
    workingDirectory,
    console: realmConsole(write, texts),
    process: {
      env: new Proxy(environment, { set: (target, name, value) => Reflect.set(target, name, `${value}`) }),
      exit(code: unknown = 0): never {
        throw new RealmExit(Number(code));
      },
    },
    print: (...values: unknown[]) => write('stdout', text(values)),
    println: (...values: unknown[]) => write('stdout', `${text(values)}\n`),
    readFile(name: string): string {
      const content = readText(asPath(name));
      if (content === undefined) throw ownError(fileError());
      return content;
    },
    writeFile(name: string, content: string | Uint8Array): void {
      if (!writeText(asPath(name), asContent(content))) throw ownError(fileError());
    },
  };
}

function asPath(name: unknown): string {
  if (typeof name !== 'string') throw new TypeError('the name of a file must be a string');
  return name;
}

function asContent(content: unknown): string | Uint8Array {
  if (typeof content === 'string') return content;
  if (!ArrayBuffer.isView(content)) {
    throw new TypeError('the content of a file must be a string, a typed array or a DataView');
  }
  return new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
}

/** Error of the realm with the properties of one of the thread. */
function ownError(json: string): Error {
  const { name, message, ...details } = JSON.parse(json) as { name: string; message: string };
  const error = name === 'TypeError' ? new TypeError(message) : new Error(message);
  return Object.assign(error, details);
}

/** Also replaces read-only globals, except undefined, NaN, Infinity and Error. */
export function define(target: object, name: string, value: unknown): void {
  Reflect.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
