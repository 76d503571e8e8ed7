/** An S3-compatible object store on a loopback address, with faults on demand. The store behind it checks the access key, not the
 *  signature, and does not know unfinished uploads, which this one lists and aborts. */
import { readdir, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { S3Settings } from '@workbench-hub/hub/files/s3/s3-settings';
import S3rver from 's3rver';
import { eventually } from '../eventually.js';
import { keepSecret } from '../secrets.js';
import { temporaryFolder } from '../temporary-folder.js';

/** A fault of one request. */
export type StoreFault =
  /** A response instead of that of the store. */
  | { readonly status: number; readonly code: string }
  /** A response that breaks after so many bytes of its body. */
  | { readonly cutAfter: number }
  /** A response of which nothing comes after so many bytes of its body. */
  | { readonly stallAfter: number }
  /** A connection that is cut when the request has come. */
  | 'CUT'
  /** No response at all. */
  | 'HANG';

export interface StoreRequest {
  readonly method: string;
  /** Key of the object; empty for the bucket. */
  readonly key: string;
  readonly query: URLSearchParams;
}

const BUCKET = 'contents';
const [ACCESS_KEY, SECRET_KEY] = ['S3RVER', 'the secret key of the object store'];
const OBJECT = '._S3rver_object';
const PARTS = '._S3rver_uploads';

interface Unfinished {
  readonly key: string;
  readonly id: string;
  begunAtMs: number;
  /** Sizes in bytes by the number of the part. */
  readonly parts: Map<string, number>;
}

export class ObjectStore {
  readonly settings: S3Settings;
  /** Asked at each request. */
  faultOf: (request: StoreRequest) => StoreFault | undefined = () => undefined;
  /** Requests that came, as method and kind: `PUT object`, `GET bucket`. */
  readonly requests: string[] = [];
  readonly #folder: string;
  readonly #pass: RequestListener;
  readonly #unfinished = new Map<string, Unfinished>();
  readonly #close: () => Promise<void>;

  private constructor(
    folder: string,
    pass: RequestListener,
    settings: S3Settings,
    close: () => Promise<void>,
  ) {
    this.settings = settings;
    this.#folder = folder;
    this.#pass = pass;
    this.#close = close;
  }

  static async start(): Promise<ObjectStore> {
    const folder = await temporaryFolder();
    const directory = join(folder.path, 'objects');
    const behind = new S3rver({
      directory,
      silent: true,
      vhostBuckets: false,
      configureBuckets: [{ name: BUCKET }],
    });
    // It must not take the exceptions of tests for its own.
    behind.logger.exceptions.unhandle();
    await behind.configureBuckets();
    const [accessKeyIdFile, secretAccessKeyFile] = [join(folder.path, 'key'), join(folder.path, 'secret')];
    await writeFile(accessKeyIdFile, `${ACCESS_KEY}\n`);
    await writeFile(secretAccessKeyFile, `${SECRET_KEY}\n`);
    keepSecret(SECRET_KEY);
    const server = createServer((request, response) => store.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const settings = {
      bucket: BUCKET,
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      prefix: 'hubs/',
      pathStyle: true,
      accessKeyIdFile,
      secretAccessKeyFile,
      ca: null,
    };
    const store: ObjectStore = new ObjectStore(directory, behind.callback(), settings, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      behind.logger.close();
      await folder.remove();
    });
    return store;
  }

  stop(): Promise<void> {
    return this.#close();
  }

  /** Keys of the stored objects, in order. */
  async keys(): Promise<string[]> {
    const names = await readdir(join(this.#folder, BUCKET), { recursive: true });
    return names
      .filter((name) => name.endsWith(OBJECT))
      .map((name) => name.slice(0, -OBJECT.length))
      .sort();
  }

  /** Path of the bytes of an object. */
  pathOf(key: string): string {
    return join(this.#folder, BUCKET, `${key}${OBJECT}`);
  }

  /** Keys of the unfinished uploads. */
  get unfinished(): string[] {
    return [...this.#unfinished.values()].map(({ key }) => key);
  }

  /** Makes the unfinished uploads older. */
  age(ms: number): void {
    for (const upload of this.#unfinished.values()) upload.begunAtMs -= ms;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://store');
    const key = decodeURIComponent(pathname.split('/').slice(2).join('/'));
    const method = request.method ?? '';
    this.requests.push(`${method} ${key === '' ? 'bucket' : 'object'}`);
    const fault = this.faultOf({ method, key, query });
    if (fault && befall(request, response, fault)) return;
    if (method === 'GET' && query.has('uploads')) {
      respond(response, 200, this.#listed(query));
      return;
    }
    const id = query.get('uploadId');
    if (method === 'DELETE' && id !== null) {
      this.#unfinished.delete(id);
      respond(response, 204, '');
      return;
    }
    if (method === 'POST' && query.has('uploads')) this.#noteBeginning(key, response);
    this.#awaitWritten(request, response, { method, key, query });
    if (method === 'POST' && id !== null) response.on('finish', () => void this.#unfinished.delete(id));
    this.#pass(request, response);
  }

  /** Holds a response until all bytes can be read: the store behind it responds before. */
  #awaitWritten(
    request: IncomingMessage,
    response: ServerResponse,
    { method, key, query }: StoreRequest,
  ): void {
    const upload = this.#unfinished.get(query.get('uploadId') ?? '');
    const part = query.get('partNumber');
    const { headers } = request;
    const size = Number(headers['x-amz-decoded-content-length'] ?? headers['content-length'] ?? 0);
    if (method === 'PUT' && upload && part !== null) {
      upload.parts.set(part, size);
      holdUntilWritten(response, join(this.#folder, BUCKET, PARTS, upload.id, part), size);
    } else if (method === 'PUT') holdUntilWritten(response, this.pathOf(key), size);
    else if (method === 'POST' && upload) {
      const sum = [...upload.parts.values()].reduce((total, each) => total + each, 0);
      holdUntilWritten(response, this.pathOf(key), sum);
    }
  }

  #noteBeginning(key: string, response: ServerResponse): void {
    const { end } = response;
    response.end = ((body: unknown, ...rest: unknown[]) => {
      const id = /<UploadId>([^<]+)</.exec(String(body))?.[1];
      if (id !== undefined) this.#unfinished.set(id, { key, id, begunAtMs: Date.now(), parts: new Map() });
      return Reflect.apply(end, response, [body, ...rest]);
    }) as typeof response.end;
  }

  #listed(query: URLSearchParams): string {
    const prefix = query.get('prefix') ?? '';
    const uploads = [...this.#unfinished.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .map(({ key, id, begunAtMs }) => {
        const begun = new Date(begunAtMs).toISOString();
        return `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${begun}</Initiated></Upload>`;
      });
    return `<ListMultipartUploadsResult>${uploads.join('')}</ListMultipartUploadsResult>`;
  }
}

/** Lets a fault befall a request; tells whether the fault takes the place of the store's response. */
function befall(request: IncomingMessage, response: ServerResponse, fault: StoreFault): boolean {
  if (fault === 'HANG') return true;
  if (fault === 'CUT') {
    request.on('end', () => request.socket.resetAndDestroy()).resume();
    return true;
  }
  if ('status' in fault) {
    request.resume();
    respond(response, fault.status, `<Error><Code>${fault.code}</Code></Error>`);
    return true;
  }
  if ('cutAfter' in fault) cutAfter(response, fault.cutAfter);
  if ('stallAfter' in fault) stallAfter(response, fault.stallAfter);
  return false;
}

function respond(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(status === 204 ? undefined : `<?xml version="1.0" encoding="UTF-8"?>${body}`);
}

function holdUntilWritten(response: ServerResponse, path: string, size: number): void {
  const { end } = response;
  response.end = ((...args: unknown[]) => {
    const send = () => Reflect.apply(end, response, args);
    if (response.statusCode !== 200) return send();
    eventually(async () => (await stat(path)).size === size).then(send, (error: Error) =>
      response.destroy(error),
    );
    return response;
  }) as typeof response.end;
}

function cutAfter(response: ServerResponse, bytes: number): void {
  const { write } = response;
  let left = bytes;
  response.write = ((piece: Buffer, ...rest: unknown[]) => {
    const part = piece.subarray(0, left);
    left -= part.length;
    const went = Reflect.apply(write, response, [part, ...rest]);
    if (left <= 0) setImmediate(() => response.socket?.resetAndDestroy());
    return went;
  }) as typeof response.write;
}

function stallAfter(response: ServerResponse, bytes: number): void {
  const { write } = response;
  let left = bytes;
  response.write = ((piece: Buffer, ...rest: unknown[]) => {
    const part = piece.subarray(0, left);
    left -= part.length;
    return part.length > 0 ? Reflect.apply(write, response, [part, ...rest]) : true;
  }) as typeof response.write;
  response.end = (() => response) as typeof response.end;
}
