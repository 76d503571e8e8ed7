/** State of the compiled simulator, all of which kept-simulator.ts must restore. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SECTION = { table: 4, global: 6 };
const I32 = 0x7f;
const MUTABLE = 1;

/** Reads the numbers of a section of a WebAssembly module: LEB128, which also fits its bytes. */
function sectionOf(module: Uint8Array, wanted: number): number[] {
  let at = 8;
  const next = () => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = module[at++] as number;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < module.length) {
    const id = module[at++];
    const end = next() + at;
    if (id !== wanted) at = end;
    else {
      const numbers: number[] = [];
      while (at < end) numbers.push(next());
      return numbers;
    }
  }
  return [];
}

const module = readFileSync(fileURLToPath(import.meta.resolve('@mujoco/mujoco/mujoco.wasm')));

it('the compiled simulator has four global numbers', () => {
  const [count, ...rest] = sectionOf(module, SECTION.global);
  expect(count).toBe(4);
  // Type, mutability, the instruction i32.const with its value, the end.
  const globals = Array.from({ length: 4 }, (_, index) => rest.slice(5 * index, 5 * index + 2));
  expect(globals).toEqual(Array.from({ length: 4 }, () => [I32, MUTABLE]));
});

it('the table of the compiled simulator cannot grow', () => {
  const [count, , hasMaximum, minimum, maximum] = sectionOf(module, SECTION.table);
  expect({ count, hasMaximum, maximum }).toEqual({ count: 1, hasMaximum: 1, maximum: minimum });
});
