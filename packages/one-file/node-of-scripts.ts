/** The Node.js inside the single file as the interpreter of scripts, which an executable file of Node.js is not by itself. */
import { runMain } from 'node:module';
import { join, resolve } from 'node:path';
import { getAsset } from 'node:sea';
import type { PrepareNode } from '@workbench-hub/runner/script-node';
import { runModuleInside } from './module-inside.js';

/** Variable with which the file runs the script that is its first argument. Processes that the script forks inherit it. */
const AS_NODE = 'WORKBENCH_AS_NODE';

const GLOBALS = 'javascript-globals.cjs';

/** Options of Node.js go into NODE_OPTIONS: those of the command line belong to the file. */
export const prepareNodeInside: PrepareNode = ({ command, args }, environment) => {
  if (command !== 'node') return { command, args: [...args, '--import', globalsAsModule()] };
  const options = [environment['NODE_OPTIONS'] ?? '', ...args.map(quoted)].filter((option) => option !== '');
  return {
    command: process.execPath,
    args: [],
    environment: { [AS_NODE]: '1', ...(options.length > 0 ? { NODE_OPTIONS: options.join(' ') } : {}) },
  };
};

export function isScriptWanted(): boolean {
  const [, , script = '-'] = process.argv;
  return process.env[AS_NODE] === '1' && !script.startsWith('-');
}

/** Runs the script as Node.js does: as the main module, of the kind that its name tells. */
export function runScript(): void {
  const [file = '', , script = '', ...parameters] = process.argv;
  process.argv = [file, resolve(script), ...parameters];
  runModuleInside(GLOBALS);
  runMain(process.argv[1]);
}

/** Runs an instance program from the folder into which the agent has unpacked it (shared/runtime/unpacked-parts.ts). */
export function runProgram(): void {
  const [file = '', , , folder = '', ...parameters] = process.argv;
  // Processes that its jobs fork are scripts.
  process.env[AS_NODE] = '1';
  process.argv = [file, join(folder, 'dist/main.js'), ...parameters];
  runMain(process.argv[1]);
}

/** The globals as an address, since another Node.js finds no file inside this one. */
function globalsAsModule(): string {
  const source = `import { createRequire } from 'node:module';
const require = createRequire('file:///');
const exports = {};
${getAsset(GLOBALS, 'utf8')}`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** An option as a word of NODE_OPTIONS (node(1)). */
function quoted(option: string): string {
  return /[\s"\\]/.test(option) ? `"${option.replace(/["\\]/g, '\\$&')}"` : option;
}
