/** Path of the compiled file of a source beside this one: processes run compiled files, tests run sources. */
export function compiled(file: string, from: string): URL {
  return new URL(file, from.replace('/test/bench/', '/test/dist/bench/'));
}
