/** Request headers of tus 1.0 (https://tus.io/protocols/resumable-upload). */
import type { Context } from 'hono';
import { HubError, invalidInput } from '../../../core/errors.js';
import { INPUT_NAME_ALLOWED } from '../../../core/storage.js';
import { decodeBase64 } from './base64.js';
import { newInputNameSchema } from './request-schemas.js';

export const TUS_VERSION = '1.0.0';

/** Content type of a part. */
export const PART_TYPE = 'application/offset+octet-stream';

const MAX_METADATA = 4096;

export interface UploadMetadata {
  readonly name: string;
  /** Announced SHA-256 in hexadecimal; null for none. */
  readonly announcedDigest: string | null;
  /** The header as it was sent. */
  readonly metadata: string;
}

/** Throws UNSUPPORTED_TUS_VERSION. */
export function refuseOtherVersion(context: Context): void {
  if (context.req.header('tus-resumable') === TUS_VERSION) return;
  context.header('Tus-Version', TUS_VERSION);
  throw new HubError('UNSUPPORTED_TUS_VERSION', `Tus-Resumable: must be ${TUS_VERSION}`);
}

/** Throws UNSUPPORTED_MEDIA_TYPE. */
export function refuseOtherType({ req }: Context): void {
  const type = req.header('content-type')?.trim().toLowerCase();
  if (type === PART_TYPE) return;
  throw new HubError('UNSUPPORTED_MEDIA_TYPE', `Content-Type: must be ${PART_TYPE}`);
}

/** A header with a number of bytes; a number too large to be exact becomes infinity. Throws INVALID_INPUT. */
export function bytesIn({ req }: Context, name: 'Upload-Length' | 'Upload-Offset'): number {
  const text = req.header(name);
  if (text === undefined || !/^\d+$/.test(text))
    throw invalidInput([{ where: name, what: 'is required: a whole number of bytes, 0 or more' }]);
  const bytes = Number(text);
  return Number.isSafeInteger(bytes) ? bytes : Number.POSITIVE_INFINITY;
}

/** The name (`filename`, or `name`) and the digest (`sha256`) of a new upload; other keys are ignored. Throws INVALID_INPUT. */
export function metadataIn({ req }: Context): UploadMetadata {
  const metadata = req.header('upload-metadata') ?? '';
  if (metadata.length > MAX_METADATA) throw invalidMetadata(`may have at most ${MAX_METADATA} characters`);
  const values = valuesIn(metadata);
  const parsed = newInputNameSchema.safeParse(values.get('filename') ?? values.get('name'));
  if (!parsed.success)
    throw invalidMetadata(`filename ${parsed.error.issues[0]?.message ?? INPUT_NAME_ALLOWED}`);
  const announcedDigest = values.get('sha256')?.toLowerCase() ?? null;
  if (announcedDigest !== null && !/^[0-9a-f]{64}$/.test(announcedDigest))
    throw invalidMetadata('sha256 must have 64 hexadecimal digits');
  return { name: parsed.data, announcedDigest, metadata };
}

function valuesIn(metadata: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of metadata === '' ? [] : metadata.split(',')) {
    const [key = '', encoded = '', ...rest] = pair.trim().split(' ');
    const value = decodeBase64(encoded);
    if (key === '' || rest.length > 0 || value === undefined || values.has(key))
      throw invalidMetadata(
        'must be pairs of a key and a value in Base64, separated by commas, each key once: filename Z2Vhci54bWw=',
      );
    values.set(key, value.toString());
  }
  return values;
}

function invalidMetadata(what: string) {
  return invalidInput([{ where: 'Upload-Metadata', what }]);
}
