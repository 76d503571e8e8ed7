/** Where the compiled file of a source beside this one is: processes run what was compiled, tests run sources. */
export function compiled(file: string, from: string): URL {
  return new URL(file, from.replace('/test/bench/', '/test/dist/bench/'));
}
