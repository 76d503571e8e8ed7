/** Cost of each part of the code, in microseconds of processor time of a task on hub, agents and instances: profiles give the
 *  shares, the processor time of the processes gives the total. */
import type { Frame, Stack } from './profile.js';

export interface PartCost {
  readonly where: Where;
  /** A file of the product, a package, or a part of Node.js. */
  readonly part: string;
  readonly us: number;
}

/** The hub, all agents, all instance programs. */
export type Where = 'hub' | 'agents' | 'instances';

/** Parts of a place that are listed; the others are added up. */
const LISTED = 12;
const OTHERS = 'other parts';

const OWN = /^(?:hub|agent|shared|packages)\//;

/** `usPerTask` is the processor time of those processes for a task. */
export function costsOf(where: Where, stacks: readonly Stack[], usPerTask: number): PartCost[] {
  const msOf = new Map<string, number>();
  for (const { frames, ms } of stacks) {
    const part = partOf(frames);
    msOf.set(part, (msOf.get(part) ?? 0) + ms);
  }
  const all = sum([...msOf.values()]);
  const sorted = [...msOf].sort(([, a], [, b]) => b - a);
  const othersMs = sum(sorted.slice(LISTED).map(([, ms]) => ms));
  const listed = [...sorted.slice(0, LISTED), ...(othersMs > 0 ? [[OTHERS, othersMs] as const] : [])];
  return listed.map(([part, ms]) => ({ where, part, us: (ms / all) * usPerTask }));
}

/** The innermost file of the product on the stack; without one, the package or the part of Node.js that is innermost. */
function partOf(frames: readonly Frame[]): string {
  const own = frames.findLast(({ file }) => OWN.test(file));
  if (own) return own.file;
  const innermost = frames.at(-1);
  if (!innermost || innermost.file === '') return innermost?.name ?? '';
  if (innermost.file.startsWith('node:')) return 'Node.js';
  const [scope = '', name = ''] = innermost.file.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
