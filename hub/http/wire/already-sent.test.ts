import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const BUILT = new URL('../../dist/http/wire/already-sent.js', import.meta.url);

/** A handler that returns the marker and ends the response itself; the server was loaded before the marker. */
const PROGRAM = `
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
getRequestListener(() => new Response(''));
const { ALREADY_SENT } = await import(${JSON.stringify(BUILT.href)});
const listener = getRequestListener(() => ALREADY_SENT);
const server = createServer((request, response) => listener(request, response).then(() => response.end('by the handler')));
server.listen(0, '127.0.0.1', async () => {
  const response = await fetch('http://127.0.0.1:' + server.address().port);
  console.log(await response.text());
  process.exit();
});
`;

it('leaves the response to the handler, whichever module was loaded first', async () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    cwd,
  });
  expect(stdout).toBe('by the handler\n');
});
