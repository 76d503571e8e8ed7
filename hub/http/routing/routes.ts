/** Routes of the application: each path is served in one spelling, and other methods of it are refused with 405. */
import type { HttpBindings } from '@hono/node-server';
import type { Context, Handler, Hono } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import { HubError } from '../../core/errors.js';
import { isSpelledLike, targetPathOf } from '../wire/target-path.js';
import { OPENAPI_PATH } from './openapi.js';

interface RoutedPath {
  readonly path: string;
  readonly methods: string[];
}

export class Routes {
  readonly #app: Hono;
  /** Throws to refuse a request before anything else is looked at. */
  readonly #refuse: (context: Context) => void;
  readonly #paths = new Map<string, RoutedPath>();
  readonly #router = new TrieRouter<RoutedPath>();

  constructor(app: Hono, refuse: (context: Context) => void) {
    this.#app = app;
    this.#refuse = refuse;
  }

  /** Adds a route; `path` has `:name` for parameters. */
  add(method: string, path: string, handler: Handler): void {
    this.#pathOf(path).methods.push(method);
    this.#app.on(method, path, (context, next) => {
      this.#refuse(context);
      if (!isSpelled(context, path)) throw unknownPath();
      return handler(context, next);
    });
  }

  /** Refusal of a request that no route has matched: METHOD_NOT_ALLOWED or UNKNOWN_PATH. */
  refusalOfUnmatched(context: Context): HubError {
    this.#refuse(context);
    const [[match]] = this.#router.match('ALL', context.req.path);
    const found = match && isSpelled(context, match[0].path) ? match[0] : undefined;
    if (!found) return unknownPath();
    const methods = found.methods.join(', ');
    context.header('Allow', methods);
    return new HubError('METHOD_NOT_ALLOWED', `${context.req.method} is not allowed here, only ${methods}`);
  }

  #pathOf(path: string): RoutedPath {
    const known = this.#paths.get(path);
    if (known) return known;
    const added: RoutedPath = { path, methods: [] };
    this.#paths.set(path, added);
    this.#router.add('ALL', path, added);
    return added;
  }
}

function isSpelled({ env, req }: Context, path: string): boolean {
  return isSpelledLike(path, targetPathOf((env as HttpBindings).incoming), req.path);
}

export function unknownPath(): HubError {
  return new HubError('UNKNOWN_PATH', `there is nothing at this path; ${OPENAPI_PATH} lists all paths`);
}
