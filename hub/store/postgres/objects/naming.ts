/** Naming of a blob under the terms of the storage, as parts of a statement. */
import type { NamedObject, NamingTerms } from '../../../core/ports/named-objects.js';
import { COUNTED, USE, USE_PARAMETERS } from './storage-use.js';
import { nameDigest, OBJECT_COLUMNS, REPLACE_OBJECT } from './stored-objects.js';

/** Parameters of {@link REFUSAL}. */
export const REFUSAL_PARAMETERS = {
  ...USE_PARAMETERS,
  nameDigest: 'text',
  sizeBytes: 'bigint',
  storedAt: 'bigint',
  overwrite: 'boolean',
  ofOwner: 'text',
  quotaBytes: 'bigint',
  maxFiles: 'bigint',
} as const;

/** Reason why the terms forbid an object, as JSON; null for none. */
export const REFUSAL = `
  ${COUNTED},
  use AS (SELECT usage.* FROM held, (${USE}) AS usage),
  refusal AS (
    SELECT CASE
      WHEN NOT :overwrite AND EXISTS (
        SELECT FROM stored_file WHERE area = :area AND name_digest = :nameDigest AND expires_at > :storedAt)
        THEN json_build_object('kind', 'EXISTS')
      WHEN former.is_foreign THEN json_build_object('kind', 'FOREIGN', 'owner', former.owner)
      WHEN use.files >= :maxFiles THEN json_build_object('kind', 'TOO_MANY_FILES', 'files', use.files)
      WHEN use.bytes + :sizeBytes > :quotaBytes THEN json_build_object('kind', 'OVER_QUOTA', 'usedBytes', use.bytes)
    END AS reason
    FROM use LEFT JOIN (
      SELECT owner, :ofOwner IS NOT NULL AND owner IS DISTINCT FROM :ofOwner AS is_foreign
      FROM stored_file WHERE area = :area AND name_digest = :nameDigest AND expires_at > :storedAt) AS former ON true)`;

export type NewName = Pick<NamedObject, 'area' | 'name' | 'owner' | 'sizeBytes' | 'storedAtMs'>;

export function refusalValues(
  { area, name, owner, sizeBytes, storedAtMs }: NewName,
  { overwrite, ofOwner, quotaBytes, maxFiles }: NamingTerms,
  exceptUpload = '',
) {
  return {
    area,
    owner,
    exceptName: name,
    exceptUpload,
    nameDigest: nameDigest(name),
    sizeBytes,
    storedAt: storedAtMs,
    overwrite,
    ofOwner: ofOwner ?? null,
    quotaBytes,
    maxFiles: Math.min(maxFiles, Number.MAX_SAFE_INTEGER),
  };
}

/** Parameters of {@link PUT_OBJECT}, together with those of the refusal. */
export const NAMING_PARAMETERS = {
  ...REFUSAL_PARAMETERS,
  digest: 'text',
  encrypted: 'boolean',
  expiresAt: 'bigint',
} as const;

/** Names the blob unless that is refused. The refusal does not see what another hub names at the same time; the name does. */
export const PUT_OBJECT = `
  stored AS (
    INSERT INTO stored_file (${OBJECT_COLUMNS})
    SELECT :area, :nameDigest, :exceptName, :digest, :sizeBytes, :encrypted, :owner, :storedAt, :expiresAt
    FROM refusal WHERE reason IS NULL
    ${REPLACE_OBJECT}
    WHERE (:overwrite AND (:ofOwner IS NULL OR stored_file.owner = :ofOwner)) OR stored_file.expires_at <= :storedAt
    RETURNING name_digest)`;

/** Outcome of {@link REFUSAL} and {@link PUT_OBJECT}. */
export const NAMING_OUTCOME = `
  SELECT CASE WHEN reason IS NOT NULL THEN reason
    WHEN EXISTS (SELECT FROM stored) THEN json_build_object('kind', 'NAMED')
    ELSE json_build_object('kind', 'EXISTS') END FROM refusal`;

export function namingValues(stored: NamedObject, terms: NamingTerms, exceptUpload?: string) {
  return {
    ...refusalValues(stored, terms, exceptUpload),
    digest: stored.digest,
    encrypted: stored.encrypted === true,
    expiresAt: stored.expiresAtMs,
  };
}
