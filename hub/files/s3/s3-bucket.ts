/** Objects in a bucket, through the AWS SDK. All methods reject with {@link S3Fault}, and with errors of local files. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import pLimit from 'p-limit';
import { credentialsOf } from './s3-credentials.js';
import { faultOf, LIST_RIGHT, S3Fault } from './s3-fault.js';
import type { S3Settings } from './s3-settings.js';

/** Parts of an upload, and uploads at a time: together they bound the memory. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_AT_A_TIME = 2;
const UPLOADS_AT_A_TIME = 4;

/** Limit of S3. */
const MAX_PARTS = 10_000;

/** Deletions at a time. */
const DELETIONS_AT_A_TIME = 8;

/** Tries to continue a read that broke off without a byte in between. */
const READ_TRIES = 4;
const READ_AGAIN_MS = 200;

export interface S3Patience {
  /** Tries of a request. */
  readonly tries: number;
  readonly connectMs: number;
  /** Silence after which a connection is given up. */
  readonly silenceMs: number;
}

const PATIENT: S3Patience = { tries: 4, connectMs: 3000, silenceMs: 20_000 };

/** For checks, whose result somebody waits for. */
export const IMPATIENT: S3Patience = { tries: 2, connectMs: 2000, silenceMs: 3000 };

export interface BucketOptions {
  readonly settings: S3Settings;
  /** Certificates in PEM that are trusted instead of Node's. */
  readonly ca: string | null;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly patience?: S3Patience;
  /** Listener for the result of each request; null for a success. */
  readonly onResult?: (fault: S3Fault | null) => void;
}

export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  readonly changedAtMs: number;
}

export class S3Bucket {
  readonly settings: S3Settings;
  readonly #options: BucketOptions;
  readonly #client: S3Client;
  readonly #uploads = pLimit(UPLOADS_AT_A_TIME);

  constructor(options: BucketOptions) {
    const { settings, ca, patience = PATIENT } = options;
    // Its warning is about later versions than the pinned one.
    // biome-ignore lint/nursery/noJsRestrictedProperties: the SDK reads it from there
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
    this.settings = settings;
    this.#options = options;
    this.#client = new S3Client({
      region: settings.region,
      ...(settings.endpoint === null ? {} : { endpoint: settings.endpoint }),
      ...credentialsOf(settings, options.clock),
      forcePathStyle: settings.pathStyle,
      // Other stores than Amazon's do not know the checksums that would be sent behind a stream.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: patience.tries,
      requestHandler: {
        connectionTimeout: patience.connectMs,
        socketTimeout: patience.silenceMs,
        httpAgent: { keepAlive: true, maxSockets: 64 },
        httpsAgent: { keepAlive: true, maxSockets: 64, ...(ca === null ? {} : { ca }) },
      },
    });
  }

  /** Resolves when the bucket is there and answers. */
  async probe(): Promise<void> {
    const { bucket: Bucket } = this.settings;
    await this.#asked('access to the bucket', LIST_RIGHT, () =>
      this.#client.send(new HeadBucketCommand({ Bucket })),
    );
  }

  /** Uploads a file of the local disk; resolves with its size when the object exists, whole and durable. */
  async uploadFile(key: string, path: string): Promise<number> {
    return this.#uploads(async () => {
      const { size } = await stat(path);
      const content = createReadStream(path, { highWaterMark: 1024 * 1024 });
      const upload = new Upload({
        client: this.#client,
        params: { ...this.#object(key), Body: content },
        queueSize: PARTS_AT_A_TIME,
        partSize: Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS)),
      });
      try {
        await this.#asked('an upload', 's3:PutObject', () => upload.done());
      } finally {
        content.destroy();
      }
      return size;
    });
  }

  async put(key: string, bytes: Buffer): Promise<void> {
    await this.#asked('an upload', 's3:PutObject', () =>
      this.#client.send(new PutObjectCommand({ ...this.#object(key), Body: bytes })),
    );
  }

  /** Undefined when the object does not exist. */
  async sizeOf(key: string): Promise<number | undefined> {
    try {
      const { ContentLength } = await this.#asked('the size of an object', 's3:GetObject', () =>
        this.#client.send(new HeadObjectCommand(this.#object(key))),
      );
      return ContentLength;
    } catch (error) {
      if (error instanceof S3Fault && error.kind === 'MISSING') return undefined;
      throw error;
    }
  }

  /** Reads an object from `start` up to `end`, excluded and not equal. A broken connection is continued where it broke. */
  async *read(key: string, start: number, end: number): AsyncGenerator<Buffer> {
    let at = start;
    for (let tries = 0; at < end; ) {
      const body = await this.#asked('reading an object', 's3:GetObject', async () => {
        const Range = `bytes=${at}-${end - 1}`;
        return (await this.#client.send(new GetObjectCommand({ ...this.#object(key), Range })))
          .Body as Readable;
      });
      let broken: unknown;
      try {
        for await (const piece of body as AsyncIterable<Buffer>) {
          // A store may send more than was asked for.
          const wanted = piece.subarray(0, end - at);
          at += wanted.length;
          tries = 0;
          yield wanted;
          if (at >= end) return;
        }
      } catch (error) {
        broken = error;
      }
      if (++tries >= READ_TRIES) {
        throw this.#told(broken ?? new Error('the object ended early'), 'reading an object', 's3:GetObject');
      }
      await pause(this.#options.timers, READ_AGAIN_MS * tries);
    }
  }

  /** Removes objects; missing ones are passed over. */
  async remove(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += DELETIONS_AT_A_TIME) {
      const batch = keys.slice(start, start + DELETIONS_AT_A_TIME);
      // One by one, since not every store has the request for many.
      await Promise.all(
        batch.map((key) =>
          this.#asked('a deletion', 's3:DeleteObject', () =>
            this.#client.send(new DeleteObjectCommand(this.#object(key))),
          ),
        ),
      );
    }
  }

  /** All objects whose keys begin so, in pages. */
  async *list(prefix: string): AsyncGenerator<readonly ListedObject[]> {
    for (let token: string | undefined, isLast = false; !isLast; ) {
      const page = await this.#asked('a list of objects', LIST_RIGHT, () =>
        this.#client.send(
          new ListObjectsV2Command({
            Bucket: this.settings.bucket,
            Prefix: prefix,
            ContinuationToken: token,
          }),
        ),
      );
      yield (page.Contents ?? []).flatMap(({ Key, Size, LastModified }) =>
        Key === undefined
          ? []
          : [{ key: Key, sizeBytes: Size ?? 0, changedAtMs: LastModified?.getTime() ?? 0 }],
      );
      token = page.NextContinuationToken;
      isLast = !page.IsTruncated || token === undefined;
    }
  }

  /** Aborts the unfinished uploads of objects whose keys begin so that were begun before this time; resolves with their number. None in
   *  a store that cannot list them. */
  async abortUploads(prefix: string, beforeMs: number): Promise<number> {
    const { bucket: Bucket } = this.settings;
    const page = await this.#asked('a list of uploads', 's3:ListBucketMultipartUploads', () =>
      this.#client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix })),
    ).catch(unsupported(undefined));
    let aborted = 0;
    for (const { Key, UploadId, Initiated } of page?.Uploads ?? []) {
      if (Key === undefined || UploadId === undefined || !Key.startsWith(prefix)) continue;
      if ((Initiated?.getTime() ?? 0) >= beforeMs) continue;
      await this.#abort(Key, UploadId);
      aborted++;
    }
    return aborted;
  }

  /** Begins an upload in parts and aborts it. */
  async tryParts(key: string): Promise<void> {
    const { UploadId } = await this.#asked('an upload in parts', 's3:PutObject', () =>
      this.#client.send(new CreateMultipartUploadCommand(this.#object(key))),
    );
    if (UploadId !== undefined) await this.#abort(key, UploadId);
  }

  /** Time of the store, of a response's header, and of this machine in between; undefined when it sends none. */
  async clocks(): Promise<{ readonly theirsMs: number; readonly oursMs: number } | undefined> {
    let date: string | undefined;
    const { bucket: Bucket } = this.settings;
    const command = new HeadBucketCommand({ Bucket });
    command.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        date = (result.response as { headers?: { date?: string } }).headers?.date;
        return result;
      },
      { step: 'deserialize', priority: 'low' },
    );
    const { clock } = this.#options;
    const beganMs = clock.nowMs();
    await this.#asked('access to the bucket', LIST_RIGHT, () => this.#client.send(command));
    const theirsMs = Date.parse(date ?? '');
    return Number.isNaN(theirsMs) ? undefined : { theirsMs, oursMs: (beganMs + clock.nowMs()) / 2 };
  }

  close(): void {
    this.#client.destroy();
  }

  #object(key: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.settings.bucket, Key: key };
  }

  async #abort(key: string, UploadId: string): Promise<void> {
    await this.#asked('the abort of an upload', 's3:AbortMultipartUpload', () =>
      this.#client.send(new AbortMultipartUploadCommand({ ...this.#object(key), UploadId })),
    );
  }

  async #asked<T>(what: string, right: string, ask: () => Promise<T>): Promise<T> {
    try {
      const result = await ask();
      this.#options.onResult?.(null);
      return result;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).path !== undefined) throw error; // of a local file
      throw this.#told(error, what, right);
    }
  }

  #told(error: unknown, what: string, right: string): S3Fault {
    const fault = faultOf(error, what, right, this.settings);
    this.#options.onResult?.(fault);
    return fault;
  }
}

/** Turns the fault of a request that the store does not have into a value. */
function unsupported<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof S3Fault && error.kind === 'UNSUPPORTED') return value;
    throw error;
  };
}
