/** Connections to the subject of a load, and the use of them. */
import { type SeededRandom, seededRandom } from '../../support/random.js';
import { DIALECTS, type Dialect, type DialectName, type LoadTask } from './dialects.js';
import { type HttpAnswer, HttpConnection, type HttpRequest } from './http-connection.js';

export interface LoadClientOptions {
  readonly port: number;
  /** Ports over which the connections are shared, instead of the one. */
  readonly ports?: readonly number[];
  /** Port at which results are polled, on connections of their own; by default on that which created the task. */
  readonly pollPort?: number;
  readonly dialect: DialectName;
  readonly connections: number;
  readonly seed: number;
  /** Timeout of a request. */
  readonly limitMs: number;
}

const POLL_S = 20;
const COUNT_EVERY_MS = 10;

export class LoadClient {
  readonly #connections: readonly HttpConnection[];
  /** Connections for results, by those that create tasks. */
  readonly #polling: ReadonlyMap<HttpConnection, HttpConnection>;
  readonly #dialect: Dialect;
  readonly #random: SeededRandom;
  readonly #giveUpAt: number;

  constructor(options: LoadClientOptions) {
    const { port, ports = [port], pollPort, dialect, connections, seed, limitMs } = options;
    this.#connections = Array.from(
      { length: connections },
      (_, at) => new HttpConnection(ports[at % ports.length] ?? port),
    );
    this.#polling = new Map(
      pollPort === undefined ? [] : this.#connections.map((each) => [each, new HttpConnection(pollPort)]),
    );
    this.#dialect = DIALECTS[dialect];
    this.#random = seededRandom(seed);
    this.#giveUpAt = performance.now() + limitMs;
  }

  /** Requests for new tasks of about 300 bytes, made before they are sent. */
  tasks(count: number, kind: LoadTask['kind'], priority?: LoadTask['priority']): HttpRequest[] {
    const hex = (digits: number) =>
      Array.from({ length: digits }, () => this.#random.below(16).toString(16)).join('');
    return Array.from({ length: count }, (_, index) => {
      const payload = {
        index,
        input: `s3://bucket/${hex(24)}.json`,
        args: ['--name', hex(40)],
        note: hex(120),
      };
      return this.#dialect.create({ kind, payload, ...(priority === undefined ? {} : { priority }) });
    });
  }

  /** Every connection takes the next item as soon as it is free. */
  async each<Item>(
    items: readonly Item[],
    action: (item: Item, connection: HttpConnection, at: number) => Promise<void>,
  ): Promise<void> {
    const left = items.entries();
    await Promise.all(
      this.#connections.map(async (connection) => {
        for (const [at, item] of left) {
          this.#expectTime();
          await action(item, connection, at);
        }
      }),
    );
  }

  /** Sends the requests; returns the ids and durations. */
  async createAll(requests: readonly HttpRequest[]): Promise<{ ids: string[]; tookMs: number[] }> {
    const ids = new Array<string>(requests.length);
    const tookMs = new Array<number>(requests.length);
    await this.each(requests, async (request, connection, at) => {
      const began = performance.now();
      ids[at] = await this.create(request, connection);
      tookMs[at] = performance.now() - began;
    });
    return { ids, tookMs };
  }

  async create(request: HttpRequest, connection = this.#first): Promise<string> {
    const answer = await connection.request(request);
    if (answer.status !== 201) throw unexpected(request, answer);
    return (JSON.parse(answer.text) as { id: string }).id;
  }

  /** Long polls until the task has ended; fails unless it ended well. */
  async expectEnd(id: string, kind: LoadTask['kind'], connection = this.#first): Promise<void> {
    for (;;) {
      this.#expectTime();
      const request = this.#dialect.result(id, kind, POLL_S);
      const answer = await (this.#polling.get(connection) ?? connection).request(request);
      if (answer.status >= 400) throw unexpected(request, answer);
      const ended = this.#dialect.ended(answer);
      if (ended === true) return;
      if (ended === false) throw new Error(`task ${id} did not end well: ${answer.text}`);
    }
  }

  /** Number of tasks that have ended so far. */
  async count(): Promise<number> {
    return this.#dialect.countIn(await this.#first.request(this.#dialect.count()));
  }

  async expectCount(count: number): Promise<void> {
    while ((await this.count()) < count) {
      this.#expectTime();
      await new Promise((resolve) => setTimeout(resolve, COUNT_EVERY_MS));
    }
  }

  close(): void {
    for (const connection of [...this.#connections, ...this.#polling.values()]) connection.close();
  }

  get #first(): HttpConnection {
    const [connection] = this.#connections;
    if (!connection) throw new Error('a load has one connection at least');
    return connection;
  }

  #expectTime(): void {
    if (performance.now() > this.#giveUpAt) throw new Error('the load did not end in time');
  }
}

function unexpected({ method, path }: HttpRequest, { status, text }: HttpAnswer): Error {
  return new Error(`${method} ${path} answered ${status} ${text}`);
}
