/**
 * Guard of a realm's calls of its thread.
 *
 * The compiled text of this file is evaluated in the realm (realm-sources.ts): it imports types only.
 */
import type { HostFiles } from './host-files.js';

type Guard = <Values extends unknown[], Result>(
  call: (...values: Values) => Result,
) => (...values: Values) => Result;

/** Hides an error of the thread, which a call can throw only when the stack of the script is full. */
export const guarded: Guard =
  (call) =>
  (...values) => {
    try {
      return call(...values);
    } catch {
      // It is of the thread, so the script gets another.
    }
    throw new RangeError('Maximum call stack size exceeded');
  };

export function guardedFiles(files: HostFiles): HostFiles {
  const { stat, chmod, truncate, makeFolder, makeFile, rename, removeFile, removeFolder } = files;
  const { list, open, close, read, write, size } = files;
  return {
    stat: guarded(stat),
    chmod: guarded(chmod),
    truncate: guarded(truncate),
    makeFolder: guarded(makeFolder),
    makeFile: guarded(makeFile),
    rename: guarded(rename),
    removeFile: guarded(removeFile),
    removeFolder: guarded(removeFolder),
    list: guarded(list),
    open: guarded(open),
    close: guarded(close),
    read: guarded(read),
    write: guarded(write),
    size: guarded(size),
  };
}
