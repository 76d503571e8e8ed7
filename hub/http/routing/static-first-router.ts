/** The router of the application: a path without parameters, such as those that create tasks, is looked up in a map; all
 *  else is left to the router of Hono that takes every combination of paths. */
import type { Result, Router } from 'hono/router';
import { TrieRouter } from 'hono/router/trie-router';

export class StaticFirstRouter<T> implements Router<T> {
  readonly name = 'StaticFirstRouter';
  readonly #all = new TrieRouter<T>();
  readonly #static = new Set<string>();
  /** By method and path; only of paths that were added. */
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
