/** Values of a point, read from the files of its task. */
import type { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { HubError } from '../../core/errors.js';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { OutputValues } from '../../core/ports/output-values.js';
import type { ReadValue } from '../../core/studies/values/read-value.js';
import type { ValueRule, ValueSource } from '../../core/studies/values/value-rules.js';
import type { TaskFiles } from '../../core/task.js';

/** Size of the files from which values are read: their text is in memory for a moment. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;

export interface PointValuesOptions {
  readonly files: Pick<BlobStore, 'find'>;
  readonly outputValues: Pick<OutputValues, 'readValues'>;
}

/** Content of a source of values, or the reason why there is none. */
export type SourceText =
  | { readonly content: Uint8Array }
  | { readonly reason: string; readonly isLost?: true };

/** Gives the content of a source; rejects as the store does. */
export type ReadSource = (source: ValueSource) => Promise<SourceText>;

/** Values of the rules in their order. Rejects as the store and `readValues` do. */
export async function valuesFrom(
  rules: readonly ValueRule[],
  read: ReadSource,
  outputValues: PointValuesOptions['outputValues'],
): Promise<readonly ReadValue[]> {
  const values = new Map<ValueRule, ReadValue>();
  for (const source of sourcesOf(rules)) {
    const group = rules.filter((rule) => isSame(rule.source, source));
    const text = await read(source);
    const found =
      'reason' in text
        ? group.map((): ReadValue => ({ kind: 'MISSING', ...text }))
        : await outputValues.readValues(group, text.content);
    for (const [index, rule] of group.entries())
      values.set(rule, found[index] ?? { kind: 'MISSING', reason: '' });
  }
  return rules.map((rule) => values.get(rule) as ReadValue);
}

/** Values of the rules in their order, of a task of one point. Rejects as the store and `readValues` do. */
export function pointValues(
  rules: readonly ValueRule[],
  ofTask: TaskFiles,
  { files, outputValues }: PointValuesOptions,
): Promise<readonly ReadValue[]> {
  return valuesFrom(rules, (source) => textOfSource(source, ofTask, files), outputValues);
}

/** Reason why a job has left no file at a path, as a value is missing for it. */
export function noFile(path: string): string {
  return `the job left no file ${path}`;
}

/** The sources of the rules, each once. */
function sourcesOf(rules: readonly ValueRule[]): ValueSource[] {
  const sources: ValueSource[] = [];
  for (const { source } of rules) if (!sources.some((each) => isSame(each, source))) sources.push(source);
  return sources;
}

function isSame(a: ValueSource, b: ValueSource): boolean {
  return a.kind === 'LOG' ? b.kind === 'LOG' : b.kind === 'FILE' && a.path === b.path;
}

/** Content of a source in the files of a task. */
export async function textOfSource(
  source: ValueSource,
  { outputFiles, log }: TaskFiles,
  files: Pick<BlobStore, 'find'>,
): Promise<SourceText> {
  const name = source.kind === 'LOG' ? 'the log' : source.path;
  const ref: FileRef | null | undefined =
    source.kind === 'LOG' ? log : outputFiles.find(({ path }) => path === source.path);
  if (!ref) return { reason: source.kind === 'LOG' ? 'the job has no log' : noFile(name) };
  if (ref.sizeBytes > MAX_FILE_BYTES) {
    return { reason: `${name} has ${ref.sizeBytes} bytes; values are read from at most ${MAX_FILE_BYTES}` };
  }
  try {
    const file = await files.find(ref);
    if (!file) return { reason: `the hub has lost ${name}`, isLost: true };
    return { content: await textOf(await file.open()) };
  } catch (error) {
    // A store that is away is asked again; a damaged file stays so.
    if (error instanceof HubError) throw error;
    const reason = `the hub cannot read ${name}: its file is damaged, or encrypted with another key`;
    return { reason, isLost: true };
  }
}

async function textOf(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
