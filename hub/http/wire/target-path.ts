/**
 * The path in the request line. Each path is served in one spelling only: a proxy rule for `/api/2.0/admin/` would not match
 * `/api/2.0/%61dmin/` or `/api/2.0/x/../admin/`, which are the same to a URL parser. Only parameters, such as names of stored
 * files, may be percent-encoded.
 */
import type { IncomingMessage } from 'node:http';

/** Path without query, and without scheme and host of a target in absolute form (RFC 9112 section 3.2.2). */
export function targetPathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?');
  const target = end < 0 ? url : url.slice(0, end);
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/]*/, '');
}

/** A parameter of several segments. */
const REST = ':path{.+}';

/** Route of a path with `{name}` for parameters: `/a/{id}` is `/a/:id`. */
export function routeOf(path: string): string {
  return path.replace(/\{path\}$/, REST).replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Whether a target is spelled like the path of its route (`/a/:id`), except for its parameters. `routed` is the path as the
 *  router has decoded it. */
export function isSpelledLike(route: string, target: string, routed: string): boolean {
  if (target === routed) return true;
  const expected = route.split('/');
  const given = target.split('/');
  // A target with "." or ".." in it has more segments than what was routed.
  const isComplete =
    expected.at(-1) === REST
      ? given.length >= expected.length && given.length === routed.split('/').length
      : given.length === expected.length;
  return isComplete && expected.every((segment, at) => segment.startsWith(':') || segment === given[at]);
}
