import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { PasswordSession } from './credentials.js';
import { AuthenticationError, HubError, NoHubError, RefusedError, UnreachableError } from './errors.js';
import * as api from './generated/sdk.gen.js';
import { Hub } from './hub.js';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  server = undefined;
});

async function serve(handle: Handle): Promise<string> {
  const started = createServer(handle);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}

function json(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** A hub whose access tokens are valid once, as far as a session sees it. */
async function expiringHub() {
  const seen: string[] = [];
  let valid = '';
  let cookie = '';
  let issued = 0;
  const issue = (response: ServerResponse) => {
    valid = `access-${++issued}`;
    cookie = `refresh-${issued}`;
    json(
      response,
      200,
      { accessToken: valid },
      { 'set-cookie': `refreshToken=${cookie}; HttpOnly; Path=/api` },
    );
  };
  const url = await serve((request, response) => {
    seen.push(request.url ?? '');
    if (request.url === '/api/2.0/auth/login') return issue(response);
    if (request.url === '/api/2.0/auth/refresh') {
      if (request.headers.cookie === `refreshToken=${cookie}`) return issue(response);
      return json(response, 401, { message: 'the session has ended' });
    }
    if (request.headers.authorization !== `Bearer ${valid}`)
      return json(response, 401, { message: 'expired' });
    return json(response, 200, { username: 'anna' });
  });
  const expire = () => {
    valid = 'none';
  };
  const end = () => {
    expire();
    cookie = 'none';
  };
  return { url, seen, expire, end };
}

describe('a session', () => {
  it('logs in once for simultaneous requests, and refreshes once when its token has expired', async () => {
    const { url, seen, expire } = await expiringHub();
    const hub = new Hub({ url, credentials: new PasswordSession('anna', 'a password') });
    expect(await Promise.all([hub.user(), hub.user(), hub.user()])).toEqual(['anna', 'anna', 'anna']);
    expire();
    expect(await Promise.all([hub.user(), hub.user(), hub.user()])).toEqual(['anna', 'anna', 'anna']);
    expect(seen.filter((path) => path.endsWith('/login'))).toHaveLength(1);
    expect(seen.filter((path) => path.endsWith('/refresh'))).toHaveLength(1);
  });

  it('that has ended is opened again', async () => {
    const { url, seen, end } = await expiringHub();
    const hub = new Hub({ url, credentials: new PasswordSession('anna', 'a password') });
    await hub.user();
    end();
    expect(await hub.user()).toBe('anna');
    expect(seen.filter((path) => path.endsWith('/login'))).toHaveLength(2);
  });
});

describe('a request', () => {
  it.each(['', '/hub', '/sites/a%20b/'])('has the path of the hub, %j, once', async (prefix) => {
    const seen: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      seen.push(request.url);
      json(response, 200, { username: 'anna', content: [], totalPages: 0 });
    });
    const hub = new Hub({ url: url + prefix });
    await hub.user();
    await api.listAgentStates({ client: hub.client, query: { page: 0 } });
    const base = prefix.replace(/\/$/, '');
    expect(seen).toEqual([`${base}/api/2.0/user`, `${base}/api/x/agents?page=0`]);
  });

  it('is repeated while the hub is overloaded, after the time that it names', async () => {
    let count = 0;
    const url = await serve((_, response) =>
      ++count < 3
        ? json(response, 503, { message: 'later' }, { 'retry-after': '0' })
        : json(response, 200, { username: 'anna' }),
    );
    expect(await new Hub({ url }).user()).toBe('anna');
    expect(count).toBe(3);
  });

  const documentOf = (parameters: readonly object[]) => ({
    paths: Object.fromEntries(
      [
        '/api/2.0/workbench/task/execute-batch-job/create',
        '/api/x/studies',
        '/api/x/studies/{id}/points',
      ].map((path) => [path, { post: { parameters } }]),
    ),
  });

  /** Hub that loses the response to the first creation. */
  async function forgetfulHub(parameters: readonly object[]) {
    const keys: unknown[] = [];
    const url = await serve((request, response) => {
      if (request.url === '/openapi.json') return json(response, 200, documentOf(parameters));
      keys.push(request.headers['idempotency-key']);
      if (keys.length < 2) return request.socket.destroy();
      return json(response, 201, { id: 'task-1' });
    });
    return { keys, hub: new Hub({ url, retryDelaysMs: [0, 0] }) };
  }

  it('that creates a task is repeated with the same key when its response is lost', async () => {
    const { keys, hub } = await forgetfulHub([{ name: 'Idempotency-Key', in: 'header' }]);
    expect((await hub.submit({ scripts: ['print(1)'] })).id).toBe('task-1');
    expect(new Set(keys).size).toBe(1);
    expect(keys).toEqual([expect.stringMatching(/^[\w-]{36}$/), expect.anything()]);
  });

  it('that creates a study, or adds points, is repeated so, too', async () => {
    const creation = await forgetfulHub([{ name: 'Idempotency-Key', in: 'header' }]);
    const study = {
      name: 'a',
      scripts: ['print(1)'],
      vary: [{ name: 'b' }],
      plan: { kind: 'OPEN' as const },
    };
    expect((await creation.hub.createStudy(study)).id).toBe('task-1');
    const adding = await forgetfulHub([{ name: 'Idempotency-Key', in: 'header' }]);
    await adding.hub.study('study-1').add({ kind: 'LIST', points: [{ b: 1 }] });
    for (const { keys } of [creation, adding]) {
      expect(keys).toEqual([expect.stringMatching(/^[\w-]{36}$/), keys[0]]);
    }
  });

  it('that creates a task is not repeated on a hub that takes no key', async () => {
    const { keys, hub } = await forgetfulHub([]);
    await expect(hub.submit({ scripts: ['print(1)'] })).rejects.toThrow(UnreachableError);
    expect(keys).toHaveLength(1);
  });

  it('that changes something without a key is not repeated when its response is lost', async () => {
    let count = 0;
    const url = await serve((request) => {
      count++;
      request.socket.destroy();
    });
    const task = new Hub({ url, retryDelaysMs: [0, 0] }).task('task-1');
    await expect(task.cancel()).rejects.toThrow(UnreachableError);
    expect(count).toBe(1);
  });

  it('rejects with the class, code and message of the error', async () => {
    const url = await serve((_, response) =>
      json(
        response,
        400,
        { message: 'name: too long' },
        { 'x-error-code': 'INVALID_INPUT', 'x-request-id': 'r1' },
      ),
    );
    const error = await new Hub({ url }).submit({ scripts: ['print(1)'] }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({
      status: 400,
      code: 'INVALID_INPUT',
      message: 'name: too long',
      requestId: 'r1',
    });
  });

  it.each<[string, Handle]>([
    ['accepts and never answers', () => undefined],
    ['never ends its answer', (_, response) => response.write('{"username":')],
    [
      'never ends a refusal',
      (_, response) => {
        response.writeHead(400);
        response.write('{');
      },
    ],
  ])('ends in the time of the call with a server that %s', async (_, handle) => {
    const hub = new Hub({ url: await serve(handle), timeoutMs: 300, retryDelaysMs: [0, 0, 0] });
    await expect(hub.user()).rejects.toThrow(UnreachableError);
    await expect(hub.user()).rejects.toThrow(/does not answer: it has said nothing for 0\.3 s/);
  });

  it('is not repeated when the hub asks for more time than the call has', async () => {
    let count = 0;
    const url = await serve((_, response) => {
      count++;
      json(response, 503, { message: 'later' }, { 'retry-after': '30' });
    });
    await expect(new Hub({ url, timeoutMs: 5000 }).user()).rejects.toThrow(/later/);
    expect(count).toBe(1);
  });

  it('tells a server that is no hub, and one that is not there', async () => {
    const url = await serve((_, response) => response.end('<html>'));
    await expect(new Hub({ url }).user()).rejects.toThrow(NoHubError);
    await new Promise((resolve) => server?.close(resolve));
    server = undefined;
    const gone = new Hub({ url, retryDelaysMs: [] });
    await expect(gone.user()).rejects.toThrow(/cannot be reached: .*ECONNREFUSED/);
    expect(() => new Hub({ url: 'ftp://hub' })).toThrow(/http:\/\/ or https:\/\//);
  });

  it('with a wrong token rejects at once', async () => {
    let count = 0;
    const url = await serve((_, response) => {
      count++;
      json(response, 401, { message: 'unknown token' });
    });
    await expect(new Hub({ url, token: 'wrong' }).user()).rejects.toThrow(AuthenticationError);
    expect(count).toBe(1);
    expect(AuthenticationError.prototype).toBeInstanceOf(HubError);
  });
});
