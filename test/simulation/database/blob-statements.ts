/** The statements of the real store of inline blobs, performed on the model. */
import { INLINE_BLOB_STATEMENTS as STATEMENTS } from '@workbench-hub/hub/store/postgres/objects/inline-blobs';
import type { ModelStore } from '@workbench-hub/hub/store/sqlite/fixtures/model-store';

type Given = Readonly<Record<string, never>>;

interface BlobBatch {
  readonly isDurable: boolean;
  /** Resolves with the outcome. */
  perform(model: ModelStore, given: Given): Promise<unknown>;
}

/** By the name of the statement. */
export const BLOB_BATCHES: ReadonlyMap<string, BlobBatch> = new Map([
  batch('put', false, async ({ ports }, { digests, storedAts, contents }: PutValues) => {
    for (const [at, digest] of digests.entries()) {
      await ports.inlineBlobs.put(digest, contents[at] as Buffer, storedAts[at] as number);
    }
    return null;
  }),
  batch('renew', false, async ({ ports }, { digests, storedAts }: RenewValues) => {
    const renewed = await ports.inlineBlobs.storedAt(digests);
    for (const [at, digest] of digests.entries())
      await ports.inlineBlobs.renew(digest, storedAts[at] as number);
    return [...renewed.keys()];
  }),
  batch('remove', true, async ({ ports }, { digests, encrypted, storedAts }: RemoveValues) => {
    const blobs = digests.map((digest, at) => ({
      digest,
      encrypted: encrypted[at] as boolean,
      storedAtMs: storedAts[at] ?? undefined,
    }));
    const { unreferenced } = await ports.inlineBlobs.removeUnreferenced(blobs, () => false);
    return blobs.flatMap((blob, at) => (unreferenced.includes(blob) ? [at + 1] : []));
  }),
  batch('sweep', false, ({ ports }, { digests, storedBefore }: SweepValues) =>
    ports.inlineBlobs.sweep(storedBefore, Number.MAX_SAFE_INTEGER, (digest) => !digests.includes(digest)),
  ),
  batch('setBack', false, async (model, { now }: { now: number }) => {
    model.tamper('UPDATE small_file SET stored_at = ? WHERE stored_at > ?', now, now);
    return null;
  }),
  batch('forgetDropped', false, async ({ ports }, { ids }: { ids: number[] }) => {
    await ports.inlineBlobs.forgetDropped(ids);
    return null;
  }),
]);

interface PutValues {
  readonly digests: readonly string[];
  readonly storedAts: readonly number[];
  readonly contents: readonly Buffer[];
}

interface RemoveValues {
  readonly digests: readonly string[];
  readonly encrypted: readonly boolean[];
  readonly storedAts: readonly (number | null)[];
}

interface RenewValues {
  readonly digests: readonly string[];
  readonly storedAts: readonly number[];
}

interface SweepValues {
  readonly digests: readonly string[];
  readonly storedBefore: number;
}

function batch<Values>(
  name: keyof typeof STATEMENTS,
  isDurable: boolean,
  perform: (model: ModelStore, given: Values) => Promise<unknown>,
): [string, BlobBatch] {
  const work = perform as unknown as BlobBatch['perform'];
  return [STATEMENTS[name].name, { isDurable, perform: work }];
}

type BlobRead = (model: ModelStore, values: readonly never[]) => Promise<object[]>;

/** By the name of the statement; values are in the order of its parameters. */
export const BLOB_READS: ReadonlyMap<string, BlobRead> = new Map<string, BlobRead>([
  [
    STATEMENTS.find.name,
    async ({ ports }, [digest]) => {
      const content = await ports.inlineBlobs.find(digest as unknown as string);
      return content ? [{ content }] : [];
    },
  ],
  [
    STATEMENTS.old.name,
    async ({ ports }, [after, storedBefore, limit]) =>
      (
        await ports.inlineBlobs.old(
          after as unknown as string,
          storedBefore as unknown as number,
          limit as unknown as number,
        )
      ).map((digest) => ({ digest })),
  ],
  [
    STATEMENTS.storedAt.name,
    async ({ ports }, [digests]) =>
      [...(await ports.inlineBlobs.storedAt(digests as unknown as string[]))].map(([digest, storedAtMs]) => ({
        digest,
        storedAtMs,
      })),
  ],
  [
    STATEMENTS.referenced.name,
    async ({ ports }, [digests, encrypted]) =>
      [
        ...(await ports.inlineBlobs.referenced(
          digests as unknown as string[],
          encrypted as unknown as boolean,
        )),
      ].map((digest) => ({ digest })),
  ],
  [
    STATEMENTS.referencedEncrypted.name,
    async ({ ports }) => (await ports.inlineBlobs.referencedEncrypted()).map((digest) => ({ digest })),
  ],
  [
    STATEMENTS.dropped.name,
    async ({ ports }, [after, limit]) =>
      ports.inlineBlobs.dropped(after as unknown as number, limit as unknown as number),
  ],
]);

/** Names of the parameters of each batch, which come as a list. */
export function parametersOf(name: string): readonly string[] {
  return Object.values(STATEMENTS).find((statement) => statement.name === name)?.parameters ?? [];
}
