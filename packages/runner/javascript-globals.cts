/**
 * Globals that Node defines before a script (`--require`): the job's variables, as strings, and `print` and `println`, which
 * JavaScript consoles of workbenches have. A variable may have any name, even that of one of Node's globals, so everything that
 * is needed later is read first.
 */
const fs: typeof import('node:fs') = require('node:fs');
const util: typeof import('node:util') = require('node:util');

const globals = globalThis;
const { stdout, stderr } = process;
const { defineProperty, apply } = Reflect;
const { inspect } = util;
const { write } = stdout;
const { map, join } = Array.prototype;

// Node would queue output that is read too slowly, without limit, and lose the queue at process.exit(). Other interpreters write
// synchronously. The handle has no public method for that.
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
