/** Requests to a hub: credentials, retries, and errors as classes. */
import type { Credentials } from './credentials.js';
import { errorOf, NoHubError, type OverloadedError, UnreachableError } from './errors.js';

/** Milliseconds before each further try of a request without a response. */
const RETRY_DELAYS_MS = [200, 500, 1000, 2000, 4000];
const MAX_RETRY_AFTER_S = 30;

/** Longest silence of a hub in a call, unless the caller says otherwise. */
export const SILENCE_MS = 60_000;
/** Rate at which a body is sent at least. */
const LEAST_BYTES_PER_MS = 64;

/** Responses of a hub or proxy that may be better a moment later. */
const TEMPORARY: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Refusals before anything was done, so that every method may be tried again. */
const REFUSED: ReadonlySet<number> = new Set([429, 503]);

export interface ConnectionOptions {
  /** Address of the hub, such as `https://hub.example`. */
  readonly url: string;
  readonly credentials: Credentials | undefined;
  readonly fetch: typeof fetch;
  /** Delays of further tries; an empty list for none. */
  readonly retryDelaysMs?: readonly number[];
  /** Longest time without an answer, over all tries of a request and between the parts of a text; a minute by default. */
  readonly timeoutMs?: number;
  /** Called when a request is tried again since the hub could not be reached, or a stream since the hub refuses it at present. */
  readonly onRetry?: (error: UnreachableError | OverloadedError) => void;
}

export interface RequestOptions {
  readonly method?: string;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Whether the request may be repeated although its response was lost; GET always may. A function is called then. */
  readonly isIdempotent?: boolean | (() => Promise<boolean>);
  /** Further tries after a failure that passes; true by default. */
  readonly isRetried?: boolean;
  /** Code of a refusal that no further try follows. */
  readonly finalCode?: string | undefined;
  /** Called with each warning that the response carries, in words. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

/** The text of one value of the header `Warning`. */
const WARNING = /299 - "([^"]*)"/g;

/** Part of a file to download. */
export interface ContentOptions {
  /** Continues a download at this byte. */
  readonly from?: number;
  /** Entity tag of what was downloaded before: of a file that has another one, the response has all. */
  readonly ifRange?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The request of this part. */
export function contentRequest({ from = 0, ifRange, signal }: ContentOptions): RequestOptions {
  if (from === 0) return { signal };
  const condition: Record<string, string> = ifRange === undefined ? {} : { 'if-range': ifRange };
  return { headers: { range: `bytes=${from}-`, ...condition }, signal };
}

export class Connection {
  readonly url: string;
  readonly #options: ConnectionOptions;
  #hasAnswered = false;

  /** Throws TypeError for an address that is none. */
  constructor(options: ConnectionOptions) {
    if (!URL.canParse(options.url))
      throw new TypeError(
        `${JSON.stringify(options.url)} is no address of a hub: it begins with http:// or https://`,
      );
    const { protocol } = new URL(options.url);
    if (protocol !== 'http:' && protocol !== 'https:')
      throw new TypeError(`the address of a hub begins with http:// or https://, not ${protocol}`);
    this.url = options.url.replace(/\/+$/, '');
    this.#options = options;
  }

  /** Number of further tries of a request that failed for a reason that passes. */
  get retries(): number {
    return (this.#options.retryDelaysMs ?? RETRY_DELAYS_MS).length;
  }

  /**
   * The response, whose status is 2xx or 304. Rejects with a {@link HubError}, or {@link UnreachableError}, also when the hub has not
   * answered for the time of the call. The body of a request has more time by its size.
   */
  async request(path: string, options: RequestOptions = {}): Promise<Response> {
    const { url, init } = this.#prepared(path, options);
    const bound = new SilenceBound(this.url, this.#silenceMs + bytesOf(init.body) / LEAST_BYTES_PER_MS);
    const signal = options.signal ? AbortSignal.any([options.signal, bound.signal]) : bound.signal;
    try {
      return await Promise.race([this.#answer(url, { ...init, signal }, options, bound), bound.silence]);
    } catch (error) {
      // A `fetch` may reject with an error of its own for an aborted request.
      if (bound.signal.aborted && !options.signal?.aborted) throw bound.signal.reason;
      throw error;
    } finally {
      bound.end();
    }
  }

  async #answer(
    url: string,
    init: RequestInit,
    options: RequestOptions,
    bound: SilenceBound,
  ): Promise<Response> {
    const { method = 'GET', isIdempotent = method === 'GET', isRetried = true, finalCode, signal } = options;
    const mayLoseResponse = async () => (typeof isIdempotent === 'function' ? isIdempotent() : isIdempotent);
    const delays = isRetried ? (this.#options.retryDelaysMs ?? RETRY_DELAYS_MS) : [];
    for (let attempt = 0; ; attempt++) {
      const isLast = attempt >= delays.length;
      const outcome = await this.#try(url, init).catch(async (error: unknown) => {
        if (signal?.aborted || !(error instanceof UnreachableError) || isLast) throw error;
        if (isWrongAddress(error) || (!isRefusedConnection(error) && !(await mayLoseResponse()))) throw error;
        this.tellRetry(error);
        return undefined;
      });
      if (outcome?.ok || outcome?.status === 304) return outcome;
      const mayRepeat = outcome === undefined || (await mayPass(outcome, mayLoseResponse, finalCode));
      const delay = delayMs(outcome, delays[attempt] ?? 0);
      if (outcome !== undefined && (isLast || !mayRepeat || delay >= bound.leftMs))
        throw await errorOf(outcome);
      await pause(delay, init.signal ?? signal);
      await outcome?.body?.cancel();
    }
  }

  /** Tells why there was no answer that counts, and that another try follows. */
  tellRetry(error: UnreachableError | OverloadedError): void {
    this.#options.onRetry?.(error);
  }

  /** The JSON body of a response. Rejects with {@link NoHubError} when it is none. */
  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const text = await this.text(path, options);
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new NoHubError(
        `${this.url} responded to ${path} with something other than JSON: is it a Workbench Hub?`,
        {
          cause: error,
        },
      );
    }
  }

  /** The body of a response as text. Rejects with {@link UnreachableError} when it stops coming. */
  async text(path: string, options: RequestOptions = {}): Promise<string> {
    const response = await this.request(path, options);
    for (const [, warning = ''] of (response.headers.get('warning') ?? '').matchAll(WARNING))
      options.onWarning?.(warning);
    return this.textOf(response);
  }

  /** The body of this response as text. Rejects as {@link text} does. */
  async textOf({ body }: Response): Promise<string> {
    const reader = body?.getReader();
    const decoder = new TextDecoder();
    let text = '';
    try {
      for (;;) {
        const { done, value } = (await withinSilence(reader?.read(), this.url, this.#silenceMs)) ?? {
          done: true,
        };
        if (done) return text + decoder.decode();
        text += decoder.decode(value, { stream: true });
      }
    } catch (error) {
      // A connection that is silent ends when it is left.
      await reader?.cancel().catch(() => undefined);
      throw error;
    }
  }

  get #silenceMs(): number {
    return this.#options.timeoutMs ?? SILENCE_MS;
  }

  /** Sends a request of the generated functions. */
  async send(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const hasBody = request.body !== null;
    // The address of the hub, which is in that of the request, may have a path.
    const base = new URL(this.url).pathname.replace(/\/$/, '');
    return this.request(pathname.slice(base.length) + search, {
      method: request.method,
      headers: Object.fromEntries(request.headers),
      ...(hasBody ? { body: await request.blob() } : {}),
      signal: request.signal,
    });
  }

  /** Sends a request once, with credentials that are renewed when the hub rejects them. */
  async #try(url: string, init: RequestInit): Promise<Response> {
    const { credentials } = this.#options;
    const send = (path: string, more: RequestInit) => this.#send(this.url + path, more);
    const token = await credentials?.token(send);
    const response = await this.#send(url, authorized(init, token));
    if (response.status !== 401 || !credentials || !(await credentials.renew(token, send))) return response;
    await response.body?.cancel();
    return this.#send(url, authorized(init, await credentials.token(send)));
  }

  async #send(url: string, init: RequestInit): Promise<Response> {
    try {
      const response = await this.#options.fetch(url, init);
      this.#hasAnswered = true;
      return response;
    } catch (error) {
      if (init.signal?.aborted) throw error;
      const code = codeOf(error) ?? CODES[innermostMessageOf(error)];
      // A server with TLS ends a connection without it.
      const mayHaveTls = !this.#hasAnswered && this.url.startsWith('http:') && BROKEN.test(code ?? '');
      const advice = mayHaveTls ? '; if it has TLS, the address begins with https://' : '';
      throw new UnreachableError(
        `the hub at ${this.url} cannot be reached: ${reasonOf(error, code)}${advice}`,
        {
          cause: error,
          code,
        },
      );
    }
  }

  #prepared(path: string, options: RequestOptions): { url: string; init: RequestInit } {
    const { method = 'GET', query = {}, json, body, headers, signal } = options;
    const url = new URL(this.url + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined)
        url.searchParams.set(name, Array.isArray(value) ? value.join(',') : String(value));
    }
    const content: Record<string, string> = json === undefined ? {} : { 'content-type': 'application/json' };
    const init: RequestInit = { method, headers: { ...content, ...headers } };
    if (json !== undefined) init.body = JSON.stringify(json);
    else if (body !== undefined) init.body = body;
    if (signal) init.signal = signal;
    return { url: url.href, init };
  }
}

/** Ends a call when the hub has been silent for too long. */
class SilenceBound {
  /** Rejects at the end, for steps that take no signal, such as a login. */
  readonly silence: Promise<never>;
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #endsMs: number;

  constructor(url: string, silenceMs: number) {
    this.#endsMs = performance.now() + silenceMs;
    this.#timer = setTimeout(() => this.#controller.abort(silent(url, silenceMs)), silenceMs);
    const { signal } = this.#controller;
    this.silence = new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    this.silence.catch(() => undefined);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get leftMs(): number {
    return this.#endsMs - performance.now();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** The error of a hub that has said nothing for this time. */
export function silent(url: string, silenceMs: number): UnreachableError {
  return new UnreachableError(
    `the hub at ${url} does not answer: it has said nothing for ${Math.round(silenceMs / 100) / 10} s`,
  );
}

/** Gives what a step gives; rejects with {@link UnreachableError} when that takes longer than a hub may be silent. */
export async function withinSilence<T>(
  step: Promise<T> | undefined,
  url: string,
  silenceMs: number,
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(silent(url, silenceMs)), silenceMs);
  });
  try {
    return await Promise.race([step, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function bytesOf(body: RequestInit['body']): number {
  if (typeof body === 'string') return body.length;
  if (body instanceof Blob) return body.size;
  if (body instanceof FormData) {
    let bytes = 0;
    for (const [, value] of body) bytes += typeof value === 'string' ? value.length : value.size;
    return bytes;
  }
  return ArrayBuffer.isView(body) || body instanceof ArrayBuffer ? body.byteLength : 0;
}

function authorized(init: RequestInit, token: string | undefined): RequestInit {
  if (token === undefined) return init;
  return {
    ...init,
    headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${token}` },
  };
}

/** Whether no connection was made, so that nothing was sent. */
function isRefusedConnection(error: UnreachableError): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(error.code ?? '');
}

/** Whether another try would fail in the same way: no host has this name, or TLS fails. */
function isWrongAddress({ code = '', isUntrusted }: UnreachableError): boolean {
  return isUntrusted || WRONG_ADDRESS.test(code);
}

const WRONG_ADDRESS =
  /^(?:ENOTFOUND|EPROTO|ERR_SSL_.*|ERR_TLS_CERT_ALTNAME_INVALID|CERT_.*|HPE_.*|BLOCKED_PORT)$/;

const BROKEN = /^(?:ECONNRESET|UND_ERR_SOCKET|EPIPE)$/;

/** Failures in words, by their codes. */
const IN_WORDS: readonly [code: RegExp, words: string][] = [
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'there is no host of this name, or the network is away'],
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|EHOSTUNREACH|ENETUNREACH)$/, 'no connection comes about'],
  [BROKEN, 'the connection broke'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, 'its certificate is not valid yet'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'its certificate is for another name'],
  [
    /^(?:EPROTO|ERR_SSL_.*)$/,
    'it does not speak TLS as expected; if it has none, the address begins with http://',
  ],
  [/^BLOCKED_PORT$/, 'HTTP may not use this port, which belongs to another protocol'],
  [/^HPE_.*$/, 'it does not answer by HTTP; if it has TLS, the address begins with https://'],
];

/** Codes for failures of `fetch` that have none, by their messages. */
const CODES: Readonly<Record<string, string>> = { 'bad port': 'BLOCKED_PORT' };

/** Code of the system error behind an error of `fetch`. */
function codeOf(error: unknown): string | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    if ('code' in each && typeof each.code === 'string') return each.code;
    if (each instanceof AggregateError) return codeOf(each.errors[0]);
  }
  return undefined;
}

/** Cause of a failure in words, else the innermost message: that of `fetch` itself says nothing. */
function reasonOf(error: unknown, code: string | undefined): string {
  const known = IN_WORDS.find(([pattern]) => code !== undefined && pattern.test(code))?.[1];
  if (known !== undefined) return `${known} (${code})`;
  if (code !== undefined && new UnreachableError('', { code }).isUntrusted)
    return `its certificate is signed by no authority that is trusted here (${code})`;
  const message = innermostMessageOf(error);
  return message === '' ? (code ?? 'unknown reason') : message;
}

function innermostMessageOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  return innermost instanceof Error ? innermost.message : String(innermost);
}

/** Whether another try of a refused request may succeed, and does no harm. */
async function mayPass(
  { status, headers }: Response,
  mayLoseResponse: () => Promise<boolean>,
  finalCode: string | undefined,
): Promise<boolean> {
  if (finalCode !== undefined && headers.get('x-error-code') === finalCode) return false;
  return REFUSED.has(status) || (TEMPORARY.has(status) && (await mayLoseResponse()));
}

function delayMs(response: Response | undefined, otherwiseMs: number): number {
  const retryAfterS = Number(response?.headers.get('retry-after') ?? Number.NaN);
  return retryAfterS >= 0 ? Math.min(retryAfterS, MAX_RETRY_AFTER_S) * 1000 : otherwiseMs;
}

/** Resolves after this time; rejects with the reason of the signal once it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
