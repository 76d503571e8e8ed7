/** Large JSON bodies are parsed as they arrive, small ones at once: both parsers return the same. Bodies are determined by a
 *  seed; `WORKBENCH_TEST_SEED` and `WORKBENCH_TEST_RUNS` choose others. */
import { createHash } from 'node:crypto';
import { HubError } from '@workbench-hub/hub/core/errors';
import { type BlobStore, BlobTooLarge } from '@workbench-hub/hub/core/ports/blobs';
import { decodeBase64 } from '@workbench-hub/hub/http/requests/parsing/base64';
import { StoredBlob } from '@workbench-hub/hub/http/requests/parsing/body-blob';
import { IncomingBlobs } from '@workbench-hub/hub/http/requests/parsing/incoming-blobs';
import { parseJsonBody } from '@workbench-hub/hub/http/requests/parsing/json-parsing';
import { batchJobContents } from '@workbench-hub/hub/http/requests/parsing/request-schemas';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const seed = Number(process.env['WORKBENCH_TEST_SEED'] ?? 20261121);
const numRuns = Number(process.env['WORKBENCH_TEST_RUNS'] ?? 40) * 50;

/** Keeps contents in memory. */
function memoryFiles() {
  const kept = new Map<string, Buffer>();
  const files: Pick<BlobStore, 'store'> = {
    store: async (content, maxBytes): Promise<FileRef> => {
      const pieces: Buffer[] = [];
      for await (const piece of content) pieces.push(piece);
      const bytes = Buffer.concat(pieces);
      if (bytes.length > maxBytes) throw new BlobTooLarge(maxBytes);
      const digest = createHash('sha256').update(bytes).digest('hex');
      kept.set(digest, bytes);
      return { digest, sizeBytes: bytes.length };
    },
  };
  return { files: files as BlobStore, kept };
}

const NO_HOLD = { add: () => undefined, release: () => undefined, abandon: () => undefined };

const LIMITS = { maxFileBytes: 1000, maxFiles: 20 };

/** Result of parsing a body: its value, blobs as bytes, or the message of the refusal. */
type Outcome = { readonly value: unknown } | { readonly refused: string };

async function readAsItComes(pieces: readonly Buffer[], limits = LIMITS): Promise<Outcome> {
  const { files, kept } = memoryFiles();
  const contents = new IncomingBlobs({ files, limits, hold: NO_HOLD });
  const sink = {
    begin: (path: readonly (string | number)[]) =>
      batchJobContents(path) ? contents.begin(path.join('.')) : undefined,
    push: (characters: Buffer) => contents.push(characters),
    end: () => contents.end(),
  };
  async function* body() {
    yield* pieces;
  }
  try {
    const value = await parseJsonBody(body(), sink, () => contents.keepUp());
    await contents.finish();
    return { value: await withContents(value, kept) };
  } catch (error) {
    await contents.abandon();
    if (error instanceof HubError) return { refused: error.message };
    throw error;
  }
}

async function withContents(value: unknown, kept: ReadonlyMap<string, Buffer>): Promise<unknown> {
  if (value instanceof StoredBlob) return { bytes: kept.get((await value.ref).digest)?.toString('hex') };
  if (Array.isArray(value)) return Promise.all(value.map((item) => withContents(item, kept)));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(async ([key, member]) => [key, await withContents(member, kept)]);
  return fromEntries((await Promise.all(members)) as [string, unknown][]);
}

function readAtOnce(bytes: Buffer): Outcome {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { value: decoded(JSON.parse(text), []) };
  } catch (error) {
    return { refused: (error as Error).message };
  }
}

function decoded(value: unknown, path: readonly (string | number)[]): unknown {
  if (typeof value === 'string' && batchJobContents(path)) {
    const content = decodeBase64(value);
    if (!content) throw new Error(`${path.join('.')}: no Base64`);
    return { bytes: content.toString('hex') };
  }
  if (Array.isArray(value)) return value.map((item, at) => decoded(item, [...path, at]));
  if (typeof value !== 'object' || value === null) return value;
  return fromEntries(Object.entries(value).map(([key, member]) => [key, decoded(member, [...path, key])]));
}

/** An own member `__proto__` is one, as JSON.parse has it. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries);
}

/** A JSON text of a value, with repeated names, escapes and space. */
function written(value: unknown, random: () => number): string {
  const space = () => (random() < 0.05 ? [' ', '\n', '\t', '\r\n  '][Math.floor(random() * 4)] : '');
  const text = (content: string) => {
    const escaped = JSON.stringify(content).slice(1, -1);
    if (random() < 0.5) return `"${escaped}"`;
    const characters = escaped.match(/\\u.{4}|\\.|[^\\]/gs) ?? [];
    const written = characters.map((character) => {
      if (character.length > 1 || random() < 0.9) return character;
      if (character === '/') return '\\/';
      return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
    });
    return `"${written.join('')}"`;
  };
  const write = (each: unknown): string => {
    if (typeof each === 'string') return `${space()}${text(each)}${space()}`;
    if (Array.isArray(each)) return `${space()}[${each.map(write).join(',') || space()}]${space()}`;
    if (typeof each !== 'object' || each === null) return `${space()}${JSON.stringify(each)}${space()}`;
    const members = Object.entries(each).flatMap(([key, member]) => {
      const once = `${space()}${text(key)}${space()}:${write(member)}`;
      return random() < 0.1
        ? [`${text(key)}:${random() < 0.5 ? '"QUJD"' : '[{"content":"QQ=="}]'}`, once]
        : [once];
    });
    return `${space()}{${members.join(',') || space()}}${space()}`;
  };
  return write(value);
}

const base64 = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const content = fc.oneof(
  { weight: 30, arbitrary: base64 },
  { weight: 1, arbitrary: fc.constantFrom('A', 'AA==AA==', 'AA-_', 'AAA\n', 'ŁAAA', '====', 'QUJDQQ==x') },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);
const file = fc.record(
  { filename: fc.string({ unit: 'binary' }), content, other: fc.jsonValue({ maxDepth: 1 }) },
  { requiredKeys: [] },
);
const request = fc.record(
  {
    name: fc.string({ unit: 'binary', maxLength: 400 }),
    inputModel: fc.oneof(file, fc.jsonValue({ maxDepth: 1 })),
    inputScripts: fc.array(file, { maxLength: 5 }),
    additionalFiles: fc.oneof(fc.array(file, { maxLength: 5 }), fc.jsonValue({ maxDepth: 2 })),
    ['__proto__']: fc.jsonValue({ maxDepth: 1 }),
    timeLimit: fc.oneof(fc.integer(), fc.double(), fc.constantFrom(-0, 1e300)),
  },
  { requiredKeys: [] },
);
const value = fc.oneof({ weight: 5, arbitrary: request }, { weight: 1, arbitrary: fc.jsonValue() });

/** Mostly unchanged; otherwise with an inserted byte, without some bytes or the end, or with something behind it. */
const damage = fc.oneof(
  { weight: 4, arbitrary: fc.constant((bytes: Buffer) => bytes) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(3),
        fc.oneof(
          fc.uint8Array({ maxLength: 3 }).map(Buffer.from),
          fc.constantFrom('"', '\\', '\\u12', ',', '{', '0', '-', '=', 'e').map((text) => Buffer.from(text)),
        ),
      )
      .map(([part, leftOut, putIn]) => (bytes: Buffer) => {
        const at = Math.floor(part * bytes.length);
        return Buffer.concat([bytes.subarray(0, at), putIn, bytes.subarray(at + leftOut)]);
      }),
  },
  {
    weight: 1,
    arbitrary: fc
      .double({ min: 0, max: 1, noNaN: true })
      .map((part) => (bytes: Buffer) => bytes.subarray(0, Math.floor(part * bytes.length))),
  },
);

const body = fc
  .tuple(value, fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), damage)
  .map(([each, chances, damaged]) =>
    damaged(Buffer.from(written(each, () => chances.next().value as number))),
  );

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const cuts = [...new Set([0, ...at.map((part) => Math.floor(part * bytes.length)), bytes.length])];
  cuts.sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

describe('a body that is parsed as it arrives', () => {
  it('has the same value as one that is parsed at once', async () => {
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(body, cuts, async (bytes, at) => {
        const asItComes = await readAsItComes(cut(bytes, at));
        const atOnce = readAtOnce(bytes);
        if ('value' in atOnce && 'value' in asItComes) {
          expect(asItComes).toEqual(atOnce);
          taken++;
        } else if ('value' in atOnce) {
          // Base64 with a fault stops the reading also where a later member of the same name takes its place.
          expect(asItComes).toEqual({ refused: expect.stringMatching(/must be Base64/) });
        } else expect(asItComes).toHaveProperty('refused');
      }),
      { seed, numRuns },
    );
    expect(taken).toBeGreaterThan(numRuns / 4);
  });
});
