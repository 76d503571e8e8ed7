/** Looks at an object store from outside of a hub. */
import type { Finding } from '@workbench-hub/shared/checks/finding';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobObject } from '../../core/ports/store-maintenance.js';
import type { BlobPlace } from '../blob-place.js';
import { blocksOf } from '../blob-streams.js';
import { IMPATIENT, S3Bucket } from './s3-bucket.js';
import { checkBucket } from './s3-check.js';
import { S3Fault, sentenceOf } from './s3-fault.js';
import type { S3Settings } from './s3-settings.js';

export interface InspectOptions {
  /** Certificates in PEM that are trusted instead of Node's. */
  readonly ca: string | null;
  readonly runtime: Pick<Runtime, 'clock' | 'timers' | 'newId'>;
}

/** Checks whether a hub can work on the object store. Leaves nothing there. */
export async function checkS3(settings: S3Settings, { ca, runtime }: InspectOptions): Promise<Finding[]> {
  const bucket = new S3Bucket({ settings, ca, ...runtime, patience: IMPATIENT });
  try {
    return await checkBucket(bucket, {
      prefix: settings.prefix,
      key: `${settings.prefix}check-${runtime.newId()}`,
    });
  } finally {
    bucket.close();
  }
}

/** Runs a question about the files that a catalogue names, with their objects as they are. Rejects with `StartRefused` when the object
 *  store cannot be read. */
export async function onObjects<T>(
  settings: S3Settings,
  catalogue: readonly BlobObject[],
  question: (files: Pick<BlobPlace, 'names' | 'open'>) => Promise<T>,
  { ca, runtime }: InspectOptions,
): Promise<T> {
  const bucket = new S3Bucket({ settings, ca, ...runtime });
  try {
    const sizes = new Map<string, number>();
    for await (const page of bucket.list(settings.prefix))
      for (const { key, sizeBytes } of page) sizes.set(key, sizeBytes);
    return await question(filesOf(bucket, catalogue, sizes));
  } catch (error) {
    if (!(error instanceof S3Fault)) throw error;
    throw new StartRefused(sentenceOf(error, settings), { cause: error });
  } finally {
    bucket.close();
  }
}

function filesOf(
  bucket: S3Bucket,
  catalogue: readonly BlobObject[],
  sizes: ReadonlyMap<string, number>,
): Pick<BlobPlace, 'names' | 'open'> {
  const objects = new Map(catalogue.map(({ name, object }) => [name, object]));
  return {
    async *names() {
      yield [...objects.keys()];
    },
    open: async (name) => {
      const object = objects.get(name);
      const sizeBytes = object === undefined ? undefined : sizes.get(object);
      if (object === undefined || sizeBytes === undefined) return undefined;
      return {
        sizeBytes,
        location: `s3://${bucket.settings.bucket}/${object}`,
        blocks: (start, end, blockBytes) => blocksOf(bucket.read(object, start, end), blockBytes),
        close: async () => undefined,
      };
    },
  };
}
