/** Profiles of Node.js (`--cpu-prof`): sampled stacks of a thread. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Frame {
  /** Empty for one without a name. */
  readonly name: string;
  /** Its file; empty for native code. */
  readonly file: string;
}

/** A stack, outermost frame first, and how long it was found. */
export interface Stack {
  readonly frames: readonly Frame[];
  readonly ms: number;
}

interface RawNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

interface RawProfile {
  readonly nodes: readonly RawNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Stacks of the main threads whose profiles are in this folder, in the last `lastMs` of each: the start before belongs to no
 *  task. Stacks of a waiting thread are left out. */
export function stacksIn(folder: string, lastMs: number): Stack[] {
  return profilesIn(folder).flatMap((file) =>
    stacksOf(JSON.parse(readFileSync(join(folder, file), 'utf8')) as RawProfile, lastMs),
  );
}

/** Node.js names them CPU.<day>.<time>.<process>.<thread>.<number>; the main thread has the number 0. */
function profilesIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => /^CPU\.\d+\.\d+\.\d+\.0\.\d+\.cpuprofile$/.test(name));
}

function stacksOf({ nodes, samples, timeDeltas }: RawProfile, lastMs: number): Stack[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const usedUs = new Map<number, number>();
  let leftUs = lastMs * 1000;
  for (let at = samples.length - 1; at >= 0 && leftUs > 0; at--) {
    const id = samples[at] ?? 0;
    const us = Math.max(0, timeDeltas[at] ?? 0);
    usedUs.set(id, (usedUs.get(id) ?? 0) + us);
    leftUs -= us;
  }
  const framesOf = (id: number): Frame[] => {
    const node = byId.get(id);
    const parent = parentOf.get(id);
    // The root is the thread itself.
    if (!node || parent === undefined) return [];
    const { functionName, url } = node.callFrame;
    return [...framesOf(parent), { name: functionName, file: shortened(url) }];
  };
  return [...usedUs]
    .map(([id, us]) => ({ frames: framesOf(id), ms: us / 1000 }))
    .filter(({ frames }) => frames.length > 0 && frames[0]?.name !== '(idle)');
}

/** From the package on: `hub/http/app.js`, `ws/lib/sender.js`. */
function shortened(url: string): string {
  const path = url
    .replace(/^.*\/node_modules\//, '')
    .replace(/^file:.*\/((?:hub|agent|shared|packages)\/)/, '$1');
  return path.replace('/dist/', '/');
}
