import type { NamedObject, StorageArea } from '../../core/ports/named-objects.js';

export interface StoredObjectRow {
  readonly name: string;
  readonly digest: string;
  readonly size_bytes: number;
  readonly encrypted: boolean | number;
  readonly owner: string | null;
  readonly stored_at: number;
  readonly expires_at: number;
}

export function namedObjectOfRow(area: StorageArea, row: StoredObjectRow): NamedObject {
  return {
    area,
    name: row.name,
    digest: row.digest,
    sizeBytes: row.size_bytes,
    ...(row.encrypted ? { encrypted: true } : {}),
    owner: row.owner,
    storedAtMs: row.stored_at,
    expiresAtMs: row.expires_at,
  };
}
