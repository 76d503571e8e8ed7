import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { isSpelledLike, routeOf, targetPathOf } from './target-path.js';

it.each([
  ['/a/b', '/a/b'],
  ['/a?b=/c', '/a'],
  ['http://hub:8080/a/b?c', '/a/b'],
  ['https://hub/a', '/a'],
  ['//hub/a', '//hub/a'],
  ['*', '*'],
])('the path of the target %s is %s', (url, path) => {
  expect(targetPathOf({ url } as IncomingMessage)).toBe(path);
});

it.each([
  ['/a/{id}/b', '/a/:id/b'],
  ['/a/{id}/b/{path}', '/a/:id/b/:path{.+}'],
  ['/a/{path}/b', '/a/:path/b'],
])('the route of %s is %s', (path, route) => {
  expect(routeOf(path)).toBe(route);
});

it.each([
  ['/a/:id/b', '/a/%31/b', '/a/1/b', true],
  ['/a/:id/b', '/a/x%2Fy/b', '/a/x%2Fy/b', true],
  ['/a/:id/b', '/%61/1/b', '/a/1/b', false],
  ['/a/:id/b', '/a/1/%62', '/a/1/b', false],
  ['/a/:id/b', '/a/x/../1/b', '/a/1/b', false],
  ['/a/:id/b', '/a/./1/b', '/a/1/b', false],
  ['/a', '/a#b', '/a', false],
  ['/a/:id/b/:path{.+}', '/a/1/b/c%20d', '/a/1/b/c d', true],
  ['/a/:id/b/:path{.+}', '/a/%31/b/c/d/e', '/a/1/b/c/d/e', true],
  ['/a/:id/b/:path{.+}', '/a/1/%62/c/d', '/a/1/b/c/d', false],
  ['/a/:id/b/:path{.+}', '/a/1/b/x/../c', '/a/1/b/c', false],
  ['/a/:id/b/:path{.+}', '/a/1/b/%2e/c', '/a/1/b/c', false],
])('on the route %s, the target %s with the path %s is spelled alike: %s', (route, target, routed, is) => {
  expect(isSpelledLike(route, target, routed)).toBe(is);
});
