/** How the hub serves the console (contract of the other paths unchanged). */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { expect, it } from 'vitest';
import { api, hub, hubForAllTests, ownHub } from '../support/hubs/hub-for-tests.js';

hubForAllTests();

/** Bytes as they are sent: fetch would decompress them. */
async function raw(path: string, headers: Record<string, string> = {}) {
  const response = await request(hub.address + path, { headers });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.from(await response.body.arrayBuffer()),
  };
}

async function assetOf(ending: string): Promise<string> {
  const page = (await raw('/')).body.toString();
  const [, path = ''] =
    new RegExp(`(?:src|href)="(/assets/main-[^"]+\\.${ending}|/assets/console-[^"]+\\.${ending})"`).exec(
      page,
    ) ?? [];
  return path;
}

it.each(['/', '/tasks', '/tasks/019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77'])(
  'serves the page at %s',
  async (path) => {
    const { status, headers, body } = await raw(path);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-cache');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self' blob:; " +
        "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers['x-frame-options']).toBe('DENY');
    // Nothing inline: the policy would refuse it.
    expect(body.toString()).not.toMatch(/<script(?![^>]* src=)|style=|<style| on\w+=/);
    expect((await raw(path, { 'if-none-match': String(headers['etag']) })).status).toBe(304);
  },
);

it('serves files with a hash in their names, compressed beforehand, to be kept for good', async () => {
  for (const ending of ['js', 'css']) {
    const path = await assetOf(ending);
    const plain = await raw(path);
    expect(plain.status).toBe(200);
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers['vary']).toBe('accept-encoding');
    const br = await raw(path, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect(br.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true);
    const gzip = await raw(path, { 'accept-encoding': 'br;q=0, gzip' });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
  }
});

it('answers a browser at an address where nothing is with the console, and programs with the error body', async () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  for (const path of ['/nowhere', '/tasks/a/b', '/administration/a/b']) {
    const { status, headers, body } = await raw(path, { accept });
    expect(status).toBe(404);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(body.equals((await raw('/')).body)).toBe(true);
  }
  for (const path of ['/api/nowhere', '/assets/nothing.js', '/actuator/nothing', '/agent/nothing']) {
    expect((await raw(path, { accept })).headers['content-type']).toMatch(/^application\/json/);
  }
  expect((await request(`${hub.address}/nowhere`, { method: 'POST', headers: { accept } })).statusCode).toBe(
    404,
  );
});

it('leaves all other paths as they were', async () => {
  for (const path of [
    '/nothing',
    '/assets',
    '/assets/nothing.js',
    '/assets/../hub.yaml',
    '/tasks/a/b',
    '/api',
    '/index.html',
  ]) {
    const answer = await raw(path);
    expect(answer.status, path).toBe(404);
    expect(JSON.parse(answer.body.toString()), path).toMatchObject({ status: 404 });
  }
  expect((await api.call('POST', '/')).status).toBe(405);
  expect((await api.get('/livez')).status).toBe(200);
});

it('says who the caller is, and that no token is required while security is off', async () => {
  expect((await api.get('/api/x/caller')).body).toEqual({
    username: 'anonymous',
    roles: ['ADMIN'],
    by: 'OPEN_HUB',
  });
  expect((await api.get('/api/x/sign-on')).body).toEqual({ tokenRequired: false });
});

it('is absent with console.enabled: false', async () => {
  const { api: other } = await ownHub({ config: { console: { enabled: false } } });
  expect((await other.get('/')).status).toBe(404);
  expect((await other.get('/livez')).status).toBe(200);
});
