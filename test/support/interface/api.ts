/** A client of the REST interface that checks each response against the hub's openapi.json. */
import type { HubConfig } from '@workbench-hub/hub/config';
import { expect } from 'vitest';
import { passwordOf } from '../hubs/running-hub.js';
import { keepSecretsOf, keepSecretsOfHeaders } from '../secrets.js';
import { countAnswer } from './exercised.js';
import { type CheckedDocument, checkedDocument } from './openapi-check.js';
import type { OpenApiDocument } from './openapi-document.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; fails for any other body. */
  readonly body: Record<string, unknown>;
}

export interface CallOptions {
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly raw?: string | Uint8Array | ReadableStream;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const TASKS = '/api/2.0/workbench/task';

/** Hub as far as its client knows it. Hubs of one configuration have one document, which takes a quarter of a second to build. */
interface CalledHub {
  readonly address: string;
  readonly config?: HubConfig;
}

const documents = new Map<string, Promise<CheckedDocument>>();

export class Api {
  readonly #hub: CalledHub;
  readonly #address: string;
  readonly #token: string | undefined;
  #checked: Promise<CheckedDocument> | undefined;

  /** With a token, every request carries it. */
  constructor(hub: CalledHub, token?: string) {
    this.#hub = hub;
    this.#address = hub.address;
    this.#token = token;
  }

  /** The same hub, called with this token. */
  as(token: string): Api {
    return new Api(this.#hub, token);
  }

  /** The same hub, called by this user of the setup after a login. */
  async asUser(username: string, password = passwordOf(username)): Promise<Api> {
    const { status, body, text } = await this.post('/api/2.0/auth/login', { username, password });
    expect(status, text).toBe(200);
    return this.as(body['accessToken'] as string);
  }

  /** The token of the requests. */
  get token(): string | undefined {
    return this.#token;
  }

  async document(): Promise<OpenApiDocument> {
    const { document } = await this.#fetchDocument();
    return document;
  }

  #sharedDocument(): Promise<CheckedDocument> {
    const { config } = this.#hub;
    if (!config) return this.#fetchDocument();
    const storage = { ...config.storage, folder: '' };
    const key = JSON.stringify({ ...config, storage, dataDir: '', store: '' });
    const document = documents.get(key) ?? this.#fetchDocument();
    documents.set(key, document);
    document.catch(() => documents.delete(key));
    return document;
  }

  async #fetchDocument(): Promise<CheckedDocument> {
    const response = await fetch(`${this.#address}/openapi.json`);
    return checkedDocument(await response.text());
  }

  async call(method: string, pathAndQuery: string, options: CallOptions = {}): Promise<Answer> {
    this.#checked ??= this.#sharedDocument();
    const { document, check } = await this.#checked;
    const body = options.json === undefined ? options.raw : JSON.stringify(options.json);
    const headers = {
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      ...options.headers,
    };
    const response = await fetch(this.#address + pathAndQuery, {
      method,
      ...(body === undefined ? {} : { body, duplex: 'half' }),
      headers,
      ...(options.signal ? { signal: options.signal } : {}),
    } as RequestInit);
    const text = await textOf(response);
    keepSecretsOf(options.json);
    keepSecretsOfHeaders(response.headers);
    keepSecretsOfHeaders(new Headers(headers));
    if (response.headers.get('content-type') === 'application/json' && text !== '') {
      keepSecretsOf(JSON.parse(text));
    }
    const path = pathAndQuery.split('?')[0] ?? '';
    countAnswer(document, { method, path, status: response.status });
    if (method !== 'HEAD') {
      const contentType = response.headers.get('content-type');
      check({ method, path, status: response.status, contentType, text });
    }
    return {
      status: response.status,
      headers: response.headers,
      text,
      get body() {
        return JSON.parse(text) as Record<string, unknown>;
      },
    };
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  post(path: string, json: unknown): Promise<Answer> {
    return this.call('POST', path, { json });
  }

  delete(path: string): Promise<Answer> {
    return this.call('DELETE', path);
  }

  /** Creates a simulate-work task and returns its id. */
  async simulateWork(request: object = {}): Promise<string> {
    return this.#create('simulate-work', { duration: 1, ...request });
  }

  /** Creates an execute-batch-job task and returns its id. */
  async batchJob(request: object = {}): Promise<string> {
    return this.#create('execute-batch-job', {
      inputScripts: [{ content: base64('// nothing') }],
      ...request,
    });
  }

  /** A task as `GET task/{id}` shows it. */
  async task(id: string): Promise<Record<string, unknown>> {
    const { status, body } = await this.get(`${TASKS}/${id}`);
    expect(status).toBe(200);
    return body;
  }

  async #create(kind: string, request: object): Promise<string> {
    const { status, body, text } = await this.post(`${TASKS}/${kind}/create`, request);
    expect(status, text).toBe(201);
    return body['id'] as string;
  }
}

/** The body; of a stream of events its beginning, after which the client leaves. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) {
    return response.text();
  }
  for await (const chunk of response.body) return Buffer.from(chunk).toString();
  return '';
}

export function base64(text: string | Buffer): string {
  return Buffer.from(text).toString('base64');
}

/** `2026-11-21T06:53:00.123` (contract 1.5). */
export const LOCAL_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/;

/** `2026-11-21T06:53:00.123+01:00` (contract 1.5). */
export const OFFSET_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/;

/** Checks a response for the error body (contract 10.1). */
export function expectError(answer: Answer, status: number, path: string, message: string | RegExp): void {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.body).toEqual({
    timestamp: expect.stringMatching(OFFSET_TIMESTAMP),
    status,
    error: PHRASES[status],
    message: typeof message === 'string' ? message : expect.stringMatching(message),
    path,
  });
}

const PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  422: 'Unprocessable Entity',
  423: 'Locked',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
  502: 'Bad Gateway',
};
