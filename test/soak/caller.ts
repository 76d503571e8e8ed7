/** Requests of the mixed load: any of them may fail during a fault, but none may find a defect of the program. */
import type { SeededRandom } from '../support/random.js';
import { keepSecretsOf } from '../support/secrets.js';

/** Timeout of a request that a fault swallowed. */
const GIVE_UP_MS = 15_000;

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export interface CallOptions {
  /** Access token in place of the caller's own; null for none. */
  readonly token?: string | null;
  /** JSON value, form or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Caller {
  /** Responses by status; 0 for none. */
  readonly answers = new Map<number, number>();
  /** Responses that must never occur. */
  readonly violations: string[] = [];
  readonly #baseUrls: readonly string[];
  readonly #random: SeededRandom;

  constructor(baseUrls: readonly string[], random: SeededRandom) {
    this.#baseUrls = baseUrls;
    this.#random = random;
  }

  /** Asks any hub; undefined without a response. */
  async call(
    method: string,
    path: string,
    { token = null, body, headers = {} }: CallOptions = {},
  ): Promise<Answer | undefined> {
    const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof Uint8Array);
    try {
      const response = await this.#fetch(method, path, {
        headers: {
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(isJson ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as FormData) }),
        signal: AbortSignal.timeout(GIVE_UP_MS),
      });
      const text = await response.text();
      this.#count(`${method} ${path}`, response.status, text);
      return { status: response.status, text, headers: response.headers };
    } catch {
      this.#count(`${method} ${path}`, 0, '');
      return undefined;
    }
  }

  /** JSON of a successful response; undefined otherwise. */
  async json<T>(method: string, path: string, options: CallOptions = {}): Promise<T | undefined> {
    const answer = await this.call(method, path, options);
    if (!answer || answer.status >= 300 || answer.text === '') return undefined;
    const value = JSON.parse(answer.text) as T;
    keepSecretsOf(value);
    return value;
  }

  /** Reads a stream of events for this time, or to its end; returns what came. */
  async follow(path: string, token: string, forMs: number): Promise<string> {
    const abort = new AbortController();
    const limit = setTimeout(() => abort.abort(), forMs);
    let text = '';
    try {
      const headers = { authorization: `Bearer ${token}` };
      const response = await this.#fetch('GET', path, { headers, signal: abort.signal });
      this.#count(`GET ${path}`, response.status, '');
      for await (const piece of response.body ?? []) text += Buffer.from(piece as Uint8Array).toString();
    } catch {
      // it was left, or a fault has ended it
    } finally {
      clearTimeout(limit);
    }
    return text;
  }

  async #fetch(method: string, path: string, init: RequestInit): Promise<Response> {
    return fetch(`${this.#random.of(this.#baseUrls)}${path}`, { ...init, method });
  }

  #count(what: string, status: number, text: string): void {
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
    if (status === 500) this.violations.push(`${what} was answered with 500 ${text}`);
  }
}
