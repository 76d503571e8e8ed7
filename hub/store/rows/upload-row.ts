import type { ResumableUpload } from '../../core/ports/resumable-uploads.js';

/** `Flag` is the type of a truth value in the database. */
export interface UploadRow<Flag extends boolean | number> {
  readonly id: string;
  /** Hub that has the bytes; absent from a store of one hub. */
  readonly hub?: string | null;
  readonly name: string;
  readonly owner: string | null;
  readonly overwrite: Flag;
  readonly encrypt: Flag;
  readonly size_bytes: number;
  readonly received_bytes: number;
  readonly announced_digest: string | null;
  readonly digest: string | null;
  readonly metadata: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly is_stored: Flag;
}

export function uploadOfRow(row: UploadRow<boolean | number>): ResumableUpload {
  return {
    id: row.id,
    hubId: row.hub ?? null,
    name: row.name,
    owner: row.owner,
    overwrite: Boolean(row.overwrite),
    encrypt: Boolean(row.encrypt),
    sizeBytes: row.size_bytes,
    receivedBytes: row.received_bytes,
    announcedDigest: row.announced_digest,
    digest: row.digest,
    metadata: row.metadata,
    createdAtMs: row.created_at,
    expiresAtMs: row.expires_at,
    isStored: Boolean(row.is_stored),
  };
}
