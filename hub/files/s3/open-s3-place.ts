import { isSound, sentencesOf } from '@workbench-hub/shared/checks/finding';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobCatalogue } from '../../core/ports/blob-catalogue.js';
import type { BlobPlace } from '../blob-place.js';
import { IMPATIENT, S3Bucket } from './s3-bucket.js';
import { checkBucket } from './s3-check.js';
import { S3Place } from './s3-place.js';
import { locationOf, type S3Settings } from './s3-settings.js';
import { S3Watch } from './s3-watch.js';

export interface OpenS3Options {
  readonly catalogue: BlobCatalogue;
  /** Certificates in PEM that are trusted instead of Node's. */
  readonly ca: string | null;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface OpenedS3Place {
  readonly place: BlobPlace;
  readonly isUsable: () => boolean;
  close(): void;
}

/** Objects of the catalogue that are looked for at a start. */
const SAMPLES = 5;

/** Rejects with `StartRefused` when a hub cannot work on the bucket, or when it is another one than that of the catalogue. */
export async function openS3Place(settings: S3Settings, options: OpenS3Options): Promise<OpenedS3Place> {
  const { catalogue, ca, runtime, log } = options;
  const { clock, timers } = runtime;
  const probing = new S3Bucket({ settings, ca, clock, timers, patience: IMPATIENT });
  const watch = new S3Watch(settings, timers, log);
  const bucket = new S3Bucket({ settings, ca, clock, timers, onResult: (fault) => watch.note(fault) });
  const close = () => {
    watch.close();
    probing.close();
    bucket.close();
  };
  try {
    const prefix = `${settings.prefix}${await catalogue.name()}/`;
    await refuseUnfit(probing, { prefix, key: `${prefix}check-${runtime.newId()}` });
    await refuseOther(probing, options);
    watch.start(() => probing.probe());
    log.info({ objectStore: locationOf(settings) }, 'blobs are kept in an object store');
    const place = new S3Place({ bucket, catalogue, prefix, runtime, log });
    return { place, isUsable: () => watch.isUsable, close };
  } catch (error) {
    close();
    throw error;
  }
}

async function refuseUnfit(
  bucket: S3Bucket,
  keys: { readonly prefix: string; readonly key: string },
): Promise<void> {
  const findings = await checkBucket(bucket, keys);
  if (isSound(findings)) return;
  throw new StartRefused(
    `storage.s3: the hub cannot keep blobs in ${locationOf(bucket.settings)}: ${sentencesOf(findings, 'FAULT').join('; ')}`,
  );
}

/** Refuses a bucket that has none of the objects that the catalogue names. */
async function refuseOther(bucket: S3Bucket, { catalogue, runtime }: OpenS3Options): Promise<void> {
  const nowMs = runtime.clock.nowMs();
  const names = await catalogue.old('', Number.MAX_SAFE_INTEGER, nowMs, SAMPLES);
  for (const name of names) {
    const entry = await catalogue.find(name);
    if (!entry || (await bucket.sizeOf(entry.object)) !== undefined) return;
  }
  if (names.length === 0) return;
  throw new StartRefused(
    `storage.s3: ${locationOf(bucket.settings)} does not have the objects of this hub: set bucket, endpoint and prefix as they were, or copy the objects there first`,
  );
}
