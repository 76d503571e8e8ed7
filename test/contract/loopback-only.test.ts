/** Protection of a hub without security from browsers on the same machine. */
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';

hubForAllTests();

const CREATE = '/api/2.0/workbench/task/simulate-work/create';

function create(headers: Record<string, string>) {
  return request(hub.address + CREATE, { method: 'POST', headers, body: '{"duration":0}' });
}

describe('a hub without security', () => {
  it('accepts a job from a program, from its own page, and from a page of this host', async () => {
    for (const headers of [{}, { origin: hub.address }, { origin: 'http://localhost:5173' }]) {
      const { statusCode, body } = await create(headers);
      await body.dump();
      expect(statusCode).toBe(201);
    }
  });

  it.each(['https://evil.example', 'null', 'http://127.0.0.1.evil.example', 'file://'])(
    'refuses a job from a page of %s',
    async (origin) => {
      const { statusCode, body } = await create({ origin, 'content-type': 'text/plain' });
      expect(statusCode).toBe(403);
      expect(await body.json()).toMatchObject({ status: 403, error: 'Forbidden', path: CREATE });
    },
  );

  it.each(['evil.example', 'evil.example:80', '127.0.0.1.evil.example'])(
    'refuses the host name %s, which DNS may resolve to its address',
    async (host) => {
      const { statusCode, body } = await request(`${hub.address}/actuator/health`, { headers: { host } });
      expect(statusCode).toBe(403);
      expect(await body.json()).toMatchObject({ message: expect.stringMatching(/loopback names only/) });
    },
  );

  it('accepts every loopback host name', async () => {
    const { port } = new URL(hub.address);
    for (const host of [`localhost:${port}`, `[::1]:${port}`, `127.0.0.1:${port}`, 'localhost']) {
      const { statusCode, body } = await request(`${hub.address}/livez`, { headers: { host } });
      await body.dump();
      expect(statusCode).toBe(200);
    }
  });
});
