/** Requests of every kind, each round with names, tokens, addresses and paths that no other round has, for tests of what a hub keeps of
 *  them. Rounds with the same number are the same. */
import { connect } from 'node:net';
import { FakeAgent } from '../agents/fake-agent.js';
import { eventually } from '../eventually.js';
import { passwordOf } from '../hubs/running-hub.js';
import { keepSecret } from '../secrets.js';
import { leastOf } from './bad-requests.js';
import { ANSWERS, callAt, walkThroughInterface } from './interface-walk.js';
import { type Operation, operationsIn } from './openapi-operations.js';

/** Requests at the same time. */
const CONCURRENT = 8;
const TASKS = '/api/2.0/workbench/task';

export interface TriedHub {
  /** `http://127.0.0.1:49152`; it trusts `X-Forwarded-For` of its own machine, and has the ADMIN `anna` and the VIEWER `vera`. */
  readonly address: string;
  /** The join token. */
  readonly token: string;
}

interface Sent {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  /** Leaves before the response, or amid it. */
  readonly signal?: AbortSignal;
}

export class KindsOfRequests {
  readonly #hub: TriedHub;
  readonly #operations: readonly Operation[];
  readonly #anna: string;
  readonly #vera: string;
  /** Requests so far. */
  sent = 0;

  private constructor(hub: TriedHub, operations: readonly Operation[], [anna, vera]: [string, string]) {
    this.#hub = hub;
    this.#operations = operations;
    this.#anna = anna;
    this.#vera = vera;
  }

  static async of(hub: TriedHub): Promise<KindsOfRequests> {
    const document = await callAt(hub.address, 'GET', '/openapi.json');
    const tokenOf = async (username: string) => {
      const { text } = await callAt(hub.address, 'POST', '/api/2.0/auth/login', {
        username,
        password: passwordOf(username),
      });
      const { accessToken } = JSON.parse(text) as { accessToken: string };
      keepSecret(accessToken);
      return accessToken;
    };
    const tokens: [string, string] = [await tokenOf('anna'), await tokenOf('vera')];
    return new KindsOfRequests(hub, operationsIn(JSON.parse(document.text)), tokens);
  }

  /** Every endpoint with success, by an agent that the test plays. */
  async walk(): Promise<void> {
    const agent = await FakeAgent.join(this.#hub, { answers: ANSWERS });
    await walkThroughInterface((...call) => {
      this.sent++;
      return callAt(this.#hub.address, ...call);
    }, agent);
    await agent.leave(this.#anna);
  }

  /** Refusals of every endpoint: by nobody, with a token that is none, by a VIEWER, of what is not there, and of a body in a wrong form. */
  async refusals(round: number): Promise<void> {
    await this.#all(this.#operations, async (operation, at) => {
      const { method } = operation;
      // Leaves out those that succeed for all, that wait, or that have a kind of their own.
      if (operation.path.endsWith('/events') || method === 'OPTIONS') return;
      const path = this.#nowhere(operation, round);
      const json = operation.body ? leastOf(operation.body) : undefined;
      const spaces = ' '.repeat(1 + (round % 50));
      const headers = addressHeader(round * 1000 + at);
      await this.#send(method, path, { headers, ...(json === undefined ? {} : { json }) });
      await this.#send(method, path, {
        headers: { ...headers, authorization: `Bearer${spaces}nobody-${round}-${at}` },
      });
      await this.#send(method, path, { token: this.#vera });
      const wrong = { [`unknown-${round}`]: [round], duration: 'x' };
      if (operation.body) await this.#send(method, path, { token: this.#anna, json: wrong });
      else if (method === 'GET') await this.#send('GET', `${path}?page=${round}x`, { token: this.#anna });
      await this.#send('PUT', path, { token: this.#anna });
    });
  }

  /** Paths at which there is nothing. */
  async unknownPaths(round: number): Promise<void> {
    const beginnings = ['', 'api/2.0/', 'api/x/', 'docs/', 'assets/', 'actuator/', 'agent/files/', 'tasks/'];
    await this.#all(beginnings, (path, at) => this.#send('GET', `/${path}nothing-${round}-${at}`, {}));
  }

  /** Bytes that are no request, and a body that never comes. */
  async malformed(round: number): Promise<void> {
    const bytes = [
      `hello ${round}\r\n\r\n`,
      `GET /livez HTTP/1.1\r\nHost: a b${round}\r\n\r\n`,
      `GET /livez HTTP/1.1\r\nX: ${'x'.repeat(20_000 + round)}\r\n\r\n`,
      `POST /api/2.0/auth/login HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 10.9.0.${round % 250}\r\nContent-Length: 100\r\n\r\n{`,
    ];
    await this.#all(bytes, (text) => this.#bytes(text));
  }

  /** Streams of events and followed logs, long polls and uploads that the client leaves. */
  async leftAlone(round: number): Promise<void> {
    const agent = await FakeAgent.join(this.#hub);
    const running = await this.#created({ name: `left-${round}` });
    const { ref } = await agent.hear('assign', ({ ref: { taskId } }) => taskId === running);
    agent.say({ type: 'output', ref, offset: 0, text: `round ${round}\n` });
    const name = `a*${round}`;
    const paths = [
      `/api/x/events?name=${name}`,
      `/api/x/events?status=WAITING&name=${name}`,
      `/api/x/tasks/${running}/log?follow=true`,
      `${TASKS}/simulate-work/${running}/result?timeout=60`,
      `/api/1.0/workbench/task/simulate-work/${running}/result?timeout=60`,
    ];
    await this.#all(paths, async (path) => {
      await this.#leave(path, { token: this.#anna });
      await this.#leave(path, { token: this.#vera });
    });
    await this.#tokenOfItsOwn(round, (token) => this.#leave(paths[0] ?? '', { token }));
    await agent.end(ref, 'OK');
    await agent.leave(this.#anna);
  }

  /** Log-ins that are refused, by names and addresses that no other round has, and one that succeeds. */
  async logIns(round: number): Promise<void> {
    const attempt = (username: string, password: string, at: number) =>
      this.#send('POST', '/api/2.0/auth/login', {
        json: { username, password },
        headers: addressHeader(500_000 + round * 10 + at),
      });
    await attempt(`stranger-${round}`, 'a guess', 0);
    await attempt('vera', `guess ${round}`, 1);
    await attempt('vera', passwordOf('vera'), 2);
    await this.#send('GET', '/api/2.0/auth/refresh', { headers: { cookie: `refreshToken=none-${round}` } });
  }

  /** Agents with ids, instances, versions and labels of their own, which leave or are cut off. */
  async agents(round: number): Promise<void> {
    const id = `passing-${round}`;
    const instances = [{ id: `passing-sim-${round}`, version: `5.${round}.0`, labels: [`label-${round}`] }];
    const agent = await FakeAgent.join(this.#hub, { id, nodeId: crypto.randomUUID(), instances });
    const classifiers = [{ type: 'VERSION', value: `5.${round}.*` }];
    const task = await this.#created({ classifiers });
    const { ref } = await agent.hear('assign', ({ ref: { taskId } }) => taskId === task);
    if (round % 2 === 0) await agent.end(ref, 'OK');
    await agent.leave(this.#anna);
    await this.#send('GET', `/api/x/agents/${id}`, { token: this.#anna });
  }

  /** Tasks with names, labels, versions, keys and receivers of their own, which wait until they are canceled. */
  async waitingTasks(round: number): Promise<void> {
    const places = Array.from({ length: 10 }, (_, at) => at);
    await this.#all(places, async (at) => {
      const id = await this.#created(
        {
          name: `waits-${round}-${at}`,
          classifiers: [
            { type: 'VERSION', value: `none-${round}.${at}.*` },
            { type: 'LABLES', value: `label-${round}-${at}` },
          ],
        },
        { 'idempotency-key': `key-${round}-${at}` },
      );
      await this.#send('GET', `/api/x/tasks/${id}/explain`, { token: this.#vera });
      await this.#send('GET', `/api/x/tasks?name=waits-${round}-${at}*`, { token: this.#vera });
      await this.#send('DELETE', `${TASKS}/${id}/cancel`, { token: this.#anna });
      await this.#send('DELETE', `${TASKS}/${id}/delete`, { token: this.#anna });
    });
  }

  /** Resolves when the hub lists no agent of {@link agents} any more. */
  async agentsForgotten(): Promise<void> {
    await eventually(async () => {
      const { text } = await this.#send('GET', '/api/x/agents?size=2000', { token: this.#anna });
      return !text.includes('"passing-');
    }, 120_000);
  }

  /** Ends and removes all tasks. */
  async clear(): Promise<void> {
    for (const action of ['cancel', 'delete']) {
      const { status, text } = await this.#send('POST', `/api/x/tasks/${action}`, {
        token: this.#anna,
        json: { filter: {}, dryRun: false },
      });
      if (status !== 200) throw new Error(`${action} answered ${status} ${text}`);
    }
    // The thread of lists learns of it with the next list.
    await this.#send('GET', '/api/x/tasks?name=waits*', { token: this.#vera });
  }

  async #tokenOfItsOwn(round: number, use: (token: string) => Promise<void>): Promise<void> {
    const json = { name: `passing-${round}`, expiresInDays: 1, role: 'VIEWER' };
    const { text } = await this.#send('POST', '/api/x/tokens', { token: this.#anna, json });
    const { id, token } = JSON.parse(text) as { id: string; token: string };
    keepSecret(token);
    await use(token);
    await this.#send('DELETE', `/api/x/tokens/${id}`, { token: this.#anna });
  }

  async #created(task: object, headers: Record<string, string> = {}): Promise<string> {
    const json = { type: 'SIMULATE_WORK', duration: 1, ...task };
    const { status, text } = await this.#send('POST', '/api/x/tasks', { token: this.#anna, json, headers });
    if (status !== 201) throw new Error(`a task was answered with ${status} ${text}`);
    return (JSON.parse(text) as { id: string }).id;
  }

  /** The path of an operation for something that does not exist. */
  #nowhere({ path, parameters }: Operation, round: number): string {
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const schema = parameters.find((parameter) => parameter.name === name)?.schema;
      return schema?.enum?.[0] ?? `019aa4f2-ffff-7c41-9f0e-${String(round).padStart(12, '0')}`;
    });
  }

  async #send(method: string, path: string, { token, headers, json, signal }: Sent) {
    this.sent++;
    const response = await fetch(this.#hub.address + path, {
      method,
      headers: {
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      ...(signal ? { signal } : {}),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Asks, and leaves when the response has begun, or when the hub has had time to let it wait. */
  async #leave(path: string, { token }: Sent): Promise<void> {
    this.sent++;
    const abort = new AbortController();
    const response = fetch(this.#hub.address + path, {
      headers: { authorization: `Bearer ${token}` },
      signal: abort.signal,
    });
    if (path.includes('/result?')) {
      // Any later response of the hub says that it has read this request.
      await this.#send('GET', '/livez', {});
    } else {
      const { body } = await response;
      await body?.getReader().read();
    }
    abort.abort();
    await response.catch(() => undefined);
  }

  /** Sends bytes unchanged; resolves once the hub has ended the connection, or has said nothing for a while. */
  #bytes(text: string): Promise<void> {
    this.sent++;
    const { hostname, port } = new URL(this.#hub.address);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(text));
      socket.resume();
      socket.setTimeout(200, () => socket.destroy());
      socket.once('error', reject);
      socket.once('close', () => resolve());
    });
  }

  async #all<T>(list: readonly T[], each: (item: T, at: number) => Promise<unknown>): Promise<void> {
    const rest = list.entries();
    const worker = async () => {
      for (const [at, item] of rest) await each(item, at);
    };
    await Promise.all(Array.from({ length: CONCURRENT }, worker));
  }
}

/** The address of another client. */
function addressHeader(number: number): Record<string, string> {
  return { 'x-forwarded-for': `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}` };
}
