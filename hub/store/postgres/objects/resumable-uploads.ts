import type { NamedObject, NamingOutcome, NamingTerms } from '../../../core/ports/named-objects.js';
import type {
  ResumableUpload,
  ResumableUploads,
  UploadCreation,
  UploadTerms,
} from '../../../core/ports/resumable-uploads.js';
import { MAX_STORED_UPLOADS } from '../../rows/limits.js';
import { type UploadRow, uploadOfRow } from '../../rows/upload-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import {
  NAMING_OUTCOME,
  NAMING_PARAMETERS,
  namingValues,
  PUT_OBJECT,
  REFUSAL,
  REFUSAL_PARAMETERS,
  refusalValues,
} from './naming.js';

const COLUMNS = `id, hub, name, owner, overwrite, encrypt, size_bytes, received_bytes, announced_digest, digest, metadata,
  created_at, expires_at, is_stored`;

type Row = UploadRow<boolean>;

const CREATE: LaneWrite<{ readonly upload: ResumableUpload; readonly terms: UploadTerms }, UploadCreation> = {
  statement: laneStatement({
    parameters: {
      ...REFUSAL_PARAMETERS,
      id: 'text',
      hub: 'text',
      mayOverwrite: 'boolean',
      encrypt: 'boolean',
      receivedBytes: 'bigint',
      announcedDigest: 'text',
      digest: 'text',
      metadata: 'text',
      expiresAt: 'bigint',
      isStored: 'boolean',
      maxUploads: 'bigint',
      maxStored: 'bigint',
    },
    parts: `
      ${REFUSAL},
      decided AS (
        SELECT CASE WHEN (SELECT count(*) FROM resumable_upload WHERE owner IS NOT DISTINCT FROM :owner AND NOT is_stored)
          >= :maxUploads THEN json_build_object('kind', 'TOO_MANY_UPLOADS') ELSE reason END AS reason FROM refusal),
      forgotten AS (
        DELETE FROM resumable_upload USING decided WHERE decided.reason IS NULL AND id IN (
          SELECT id FROM resumable_upload WHERE owner IS NOT DISTINCT FROM :owner AND is_stored
          ORDER BY expires_at DESC OFFSET :maxStored)),
      created AS (
        INSERT INTO resumable_upload (${COLUMNS})
        SELECT :id, :hub, :exceptName, :owner, :mayOverwrite, :encrypt, :sizeBytes, :receivedBytes, :announcedDigest, :digest,
          :metadata, :storedAt, :expiresAt, :isStored FROM decided WHERE reason IS NULL)`,
    outcome: `SELECT coalesce(reason, json_build_object('kind', 'CREATED')) FROM decided`,
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([call]) => (call ? creationValues(call.upload, call.terms) : {}),
  results: (_, outcome) => [outcome as UploadCreation],
};

function creationValues(upload: ResumableUpload, terms: UploadTerms) {
  const { name, owner, sizeBytes, createdAtMs: storedAtMs } = upload;
  return {
    ...refusalValues({ area: 'INPUT', name, owner, sizeBytes, storedAtMs }, terms),
    id: upload.id,
    hub: upload.hubId,
    mayOverwrite: upload.overwrite,
    encrypt: upload.encrypt,
    receivedBytes: upload.receivedBytes,
    announcedDigest: upload.announcedDigest,
    digest: upload.digest,
    metadata: upload.metadata,
    expiresAt: upload.expiresAtMs,
    isStored: upload.isStored,
    maxUploads: Math.min(terms.maxUploads, Number.MAX_SAFE_INTEGER),
    maxStored: MAX_STORED_UPLOADS,
  };
}

interface Finish {
  readonly id: string;
  readonly stored: NamedObject;
  readonly terms: NamingTerms;
  readonly expiresAtMs: number;
}

const FINISH: LaneWrite<Finish, NamingOutcome> = {
  statement: laneStatement({
    parameters: { ...NAMING_PARAMETERS, uploadExpiresAt: 'bigint' },
    parts: `
      ${REFUSAL}, ${PUT_OBJECT},
      marked AS (
        UPDATE resumable_upload SET is_stored = true, expires_at = :uploadExpiresAt FROM stored
        WHERE id = :exceptUpload AND NOT is_stored)`,
    outcome: NAMING_OUTCOME,
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([call]) =>
    call ? { ...namingValues(call.stored, call.terms, call.id), uploadExpiresAt: call.expiresAtMs } : {},
  results: (_, outcome) => [outcome as NamingOutcome],
};

interface Advance {
  readonly id: string;
  readonly fromByte: number;
  readonly toByte: number;
  readonly expiresAtMs: number;
}

const ADVANCE: LaneWrite<Advance, boolean> = {
  statement: laneStatement({
    parameters: { id: 'text', fromByte: 'bigint', toByte: 'bigint', expiresAt: 'bigint' },
    parts: `
      advanced AS (
        UPDATE resumable_upload SET received_bytes = :toByte, expires_at = :expiresAt FROM held
        WHERE resumable_upload.id = :id AND received_bytes = :fromByte AND NOT is_stored RETURNING received_bytes)`,
    outcome: 'SELECT to_json(count(*)) FROM advanced',
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([call]) => ({
    id: call?.id,
    fromByte: call?.fromByte,
    toByte: call?.toByte,
    expiresAt: call?.expiresAtMs,
  }),
  results: (_, outcome) => [outcome !== 0],
};

const IDENTIFY: LaneWrite<{ readonly id: string; readonly digest: string }, null> = {
  statement: laneStatement({
    parameters: { id: 'text', digest: 'text' },
    parts: `
      identified AS (UPDATE resumable_upload SET digest = :digest FROM held WHERE resumable_upload.id = :id)`,
    outcome: "'null'",
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([call]) => ({ id: call?.id, digest: call?.digest }),
  results: () => [null],
};

const REMOVE: LaneWrite<string, null> = {
  statement: laneStatement({
    parameters: { id: 'text' },
    parts: 'removed AS (DELETE FROM resumable_upload USING held WHERE resumable_upload.id = :id)',
    outcome: "'null'",
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([id]) => ({ id }),
  results: () => [null],
};

const REMOVE_EXPIRED: LaneWrite<number, number> = {
  statement: laneStatement({
    parameters: { now: 'bigint' },
    parts: 'removed AS (DELETE FROM resumable_upload USING held WHERE expires_at <= :now RETURNING name)',
    outcome: 'SELECT to_json(count(*)) FROM removed',
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([now]) => ({ now }),
  results: (_, outcome) => [outcome as number],
};

const FIND = sql(
  { id: 'text', now: 'bigint' },
  `SELECT ${COLUMNS} FROM resumable_upload WHERE id = :id AND expires_at > :now`,
);
const LIST = sql(
  { owner: 'text', now: 'bigint' },
  `SELECT ${COLUMNS} FROM resumable_upload WHERE owner IS NOT DISTINCT FROM :owner AND NOT is_stored AND expires_at > :now
   ORDER BY created_at, id`,
);
const KNOWN = sql({ ids: 'text[]' }, 'SELECT id FROM resumable_upload WHERE id = ANY (:ids)');

export function postgresResumableUploads(db: Database, { change }: Lanes): ResumableUploads {
  return {
    create: (upload, terms) => change.write(CREATE, { upload, terms }),
    find: async (id, nowMs) => {
      const values = { id, now: nowMs };
      const row = await rowOf<Row, keyof typeof values>(db, FIND, values);
      return row && uploadOfRow(row);
    },
    listOf: async (owner, nowMs) => {
      const values = { owner, now: nowMs };
      return (await rowsOf<Row, keyof typeof values>(db, LIST, values)).map(uploadOfRow);
    },
    advance: (id, fromByte, toByte, expiresAtMs) =>
      change.write(ADVANCE, { id, fromByte, toByte, expiresAtMs }),
    identify: async (id, digest) => void (await change.write(IDENTIFY, { id, digest })),
    finish: (id, stored, terms, expiresAtMs) => change.write(FINISH, { id, stored, terms, expiresAtMs }),
    remove: async (id) => void (await change.write(REMOVE, id)),
    removeExpired: (nowMs) => change.write(REMOVE_EXPIRED, nowMs),
    known: async (ids) =>
      new Set((await rowsOf<{ id: string }, 'ids'>(db, KNOWN, { ids })).map(({ id }) => id)),
  };
}
