/** The router of the application: paths without parameters, such as those that create tasks, are looked up in a map, and all
 *  others in the router of Hono that supports every combination of paths. */
import type { Result, Router } from 'hono/router';
import { TrieRouter } from 'hono/router/trie-router';

export class StaticFirstRouter<T> implements Router<T> {
  readonly name = 'StaticFirstRouter';
  readonly #all = new TrieRouter<T>();
  readonly #static = new Set<string>();
  /** Results by method and path, of added paths only. */
  readonly #found = new Map<string, Result<T>>();

  add(method: string, path: string, handler: T): void {
    this.#all.add(method, path, handler);
    this.#found.clear();
    if (!/[:*]/.test(path)) this.#static.add(`${method} ${path}`);
  }

  match(method: string, path: string): Result<T> {
    const key = `${method} ${path}`;
    const known = this.#found.get(key);
    if (known) return known;
    const result = this.#all.match(method, path);
    if (this.#static.has(key)) this.#found.set(key, result);
    return result;
  }
}
