/**
 * Loaded by Node before a script (`--require`): makes the job's variables globals of type string, and `print` and
 * `println`, as JavaScript consoles of workbenches have them. A variable may have any name, also one of Node's own
 * globals; so everything that is needed later is taken before.
 */
const fs: typeof import('node:fs') = require('node:fs');
const util: typeof import('node:util') = require('node:util');

const globals = globalThis;
const { stdout, stderr } = process;
const { defineProperty, apply } = Reflect;
const { inspect } = util;
const { write } = stdout;
const { map, join } = Array.prototype;

// Node would queue what a loop prints faster than it is read, without bound, and lose the queue at process.exit().
// Writing synchronously is what other interpreters do. The handle has no public way to ask for it.
for (const stream of [stdout, stderr]) {
  (stream as { _handle?: { setBlocking?(blocking: boolean): void } })._handle?.setBlocking?.(true);
}

const text = (values: unknown[]): string =>
  apply(
    join,
    apply(map, values, [(value: unknown) => (typeof value === 'string' ? value : inspect(value))]),
    [' '],
  );

const defineGlobal = (name: string, value: unknown): void => {
  // False for undefined, NaN and Infinity, which no script can be given: they are in the file only.
  defineProperty(globals, name, { value, writable: true, enumerable: true, configurable: true });
};

defineGlobal('print', (...values: unknown[]): void => {
  apply(write, stdout, [text(values)]);
});
defineGlobal('println', (...values: unknown[]): void => {
  apply(write, stdout, [`${text(values)}\n`]);
});

const variablesPath = process.env['WORKBENCH_VARIABLES'];
if (variablesPath !== undefined) {
  const variables: Record<string, string> = JSON.parse(fs.readFileSync(variablesPath, 'utf8'));
  for (const name of Object.keys(variables)) defineGlobal(name, variables[name]);
}
