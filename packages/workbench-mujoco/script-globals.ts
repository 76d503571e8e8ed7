/** Globals of scripts, and the redirection of their output. */
import { Console } from 'node:console';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { inspect } from 'node:util';
import type { MainModule } from '@mujoco/mujoco';
import type { ExecuteBatchJobParams, OutputStream } from '@workbench-hub/shared/instance-protocol/messages';
import type { LoadedModel } from './model.js';
import type { Send } from './output-channel.js';
import { ScriptExit } from './script-failure.js';

/** Redirects all output of this thread to the task's log, and lets `process.exit` end the script only. */
export function redirectProcess(send: Send): void {
  const stdout = textStream('stdout', send);
  const stderr = textStream('stderr', send);
  define(process, 'stdout', stdout);
  define(process, 'stderr', stderr);
  globalThis.console = new Console({ stdout, stderr });
  define(process, 'exit', (code: unknown = process.exitCode ?? 0): never => {
    throw new ScriptExit(Number(code));
  });
  // Hides Node's warning about an experimental feature that import() of scripts relies on (see script.ts).
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') send('stderr', `${warning.stack ?? warning.message}\n`);
  });
}

/** Defines the globals of a job's scripts. Variables come last: their names win. */
export function defineScriptGlobals(
  send: Send,
  mujoco: MainModule,
  loaded: LoadedModel | undefined,
  { workingDirectory, variables }: ExecuteBatchJobParams,
): void {
  const text = (values: unknown[]) =>
    values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' ');
  const globals: Record<string, unknown> = {
    mujoco,
    model: loaded?.model,
    data: loaded?.data,
    workingDirectory,
    print: (...values: unknown[]) => send('stdout', text(values)),
    println: (...values: unknown[]) => send('stdout', `${text(values)}\n`),
    readFile: (name: string) => fs.readFileSync(path.resolve(workingDirectory, name), 'utf8'),
    writeFile: (name: string, content: string | Uint8Array) =>
      fs.writeFileSync(path.resolve(workingDirectory, name), content),
    require: createRequire(path.join(workingDirectory, 'script.js')),
    ...variables,
  };
  for (const [name, value] of Object.entries(globals)) define(globalThis, name, value);
}

function textStream(stream: OutputStream, send: Send): Writable {
  const decoder = new StringDecoder('utf8');
  return new Writable({
    decodeStrings: false,
    write(chunk: Buffer | string, _encoding, taken) {
      send(stream, typeof chunk === 'string' ? chunk : decoder.write(chunk));
      taken();
    },
  });
}

/** Also replaces read-only globals, except undefined, NaN and Infinity. */
function define(target: object, name: string, value: unknown): void {
  Reflect.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
