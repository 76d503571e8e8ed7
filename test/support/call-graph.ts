/** Calls between the parts of a program at run time: whoever calls whom, also through closures. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

type Class = abstract new (...args: never[]) => object;

/** The exported classes of a folder, by name, but for errors; `module` is one of the folder. */
export async function classesIn(module: string): Promise<ReadonlyMap<string, Class>> {
  const folder = dirname(fileURLToPath(import.meta.resolve(module)));
  const files = await readdir(folder, { recursive: true });
  const classes = new Map<string, Class>();
  for (const file of files.filter((name) => /^(?!.*(?:\.test|fixtures)).*\.js$/.test(name))) {
    const exported: Record<string, unknown> = await import(pathToFileURL(join(folder, file)).href);
    for (const [name, value] of Object.entries(exported)) if (isClass(value)) classes.set(name, value);
  }
  return classes;
}

function isClass(value: unknown): value is Class {
  return (
    typeof value === 'function' && String(value).startsWith('class ') && !(value.prototype instanceof Error)
  );
}

export class CallGraph {
  /** `A -> B` for each part A that has called a method of B. */
  readonly calls = new Set<string>();
  readonly #eventTargets: ReadonlySet<string>;
  readonly #caller = new AsyncLocalStorage<string>();
  readonly #restores: (() => void)[] = [];

  private constructor(eventTargets: readonly string[]) {
    this.#eventTargets = new Set(eventTargets);
  }

  /** Observes these parts until {@link end}. `eventTargets`: methods by which an event reaches a part, which count for no call. */
  static of(parts: ReadonlyMap<string, Class>, eventTargets: readonly string[]): CallGraph {
    const graph = new CallGraph(eventTargets);
    for (const [part, { prototype }] of parts) graph.#observe(part, prototype);
    return graph;
  }

  end(): void {
    for (const restore of this.#restores.splice(0)) restore();
  }

  /** Records each call of a method of this part, with its caller. */
  #observe(part: string, prototype: object): void {
    const [caller, entered] = [this.#caller, (name: string) => this.#entered(part, name)];
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      const method: unknown = property.value;
      if (name === 'constructor' || typeof method !== 'function') continue;
      const value = function observed(this: unknown, ...args: unknown[]) {
        entered(name);
        return caller.run(part, () => Reflect.apply(method, this, args));
      };
      Object.defineProperty(prototype, name, { ...property, value });
      this.#restores.push(() => Object.defineProperty(prototype, name, property));
    }
  }

  #entered(part: string, method: string): void {
    const from = this.#caller.getStore();
    if (from === undefined || from === part || this.#eventTargets.has(`${part}.${method}`)) return;
    this.calls.add(`${from} -> ${part}`);
  }
}

/** A cycle among these calls, as the parts on its way; undefined when there is none. */
export function cycleIn(edges: Iterable<string>): string[] | undefined {
  const targets = new Map<string, string[]>();
  for (const edge of edges) {
    const [from = '', to = ''] = edge.split(' -> ');
    targets.set(from, [...(targets.get(from) ?? []), to]);
  }
  const visit = (part: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(part)) return [...way.slice(way.indexOf(part)), part];
    for (const target of targets.get(part) ?? []) {
      const cycle = visit(target, [...way, part]);
      if (cycle) return cycle;
    }
    return undefined;
  };
  for (const part of targets.keys()) {
    const cycle = visit(part, []);
    if (cycle) return cycle;
  }
  return undefined;
}
