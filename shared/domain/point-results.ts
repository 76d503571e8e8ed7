/** Results of the points of a bundle: a file of lines that the instance program leaves, and the hub reads (decision 0088). */
import { relativePathFault } from './relative-path.js';

/** Output file of a bundle, with a line of JSON for each point that was run. */
export const POINTS_FILE = 'points.ndjson';

/** Points that a bundle has at most. */
export const MAX_BUNDLED_POINTS = 250;

/** Size of all outputs of a point of a bundle, which its line contains. */
export const MAX_BUNDLED_OUTPUT_BYTES = 8 * 1024;

const MAX_OUTPUTS = 20;
const MAX_MESSAGE_LENGTH = 10_000;

/** End of a point. OK: all scripts succeeded. ERROR: one failed. FAILED: they could not be run. */
export const POINT_STATUSES = ['OK', 'ERROR', 'FAILED'] as const;

export interface PointResult {
  readonly number: number;
  readonly status: (typeof POINT_STATUSES)[number];
  /** Reason of a failure; null for OK. */
  readonly message: string | null;
  /** Time from the start of the bundle to the start of the point. */
  readonly startedMs: number;
  readonly endedMs: number;
  readonly outputs: readonly PointOutput[];
}

/** An output file: its content is text, or, for one that is not UTF-8, Base64. */
export type PointOutput = { readonly path: string } & (
  | { readonly text: string }
  | { readonly base64: string }
);

/** Line of a point, with its end of line. */
export function lineOfPoint(result: PointResult): string {
  return `${JSON.stringify(result)}\n`;
}

/** Output with this content. */
export function pointOutput(path: string, content: Buffer): PointOutput {
  const text = content.toString();
  return Buffer.from(text).equals(content) ? { path, text } : { path, base64: content.toString('base64') };
}

export function contentOfOutput(output: PointOutput): Buffer {
  return 'text' in output ? Buffer.from(output.text) : Buffer.from(output.base64, 'base64');
}

/** Results of the points with these numbers, the first of each; lines that are none are left out, since a program may write anything. */
export function pointResults(text: string, numbers: readonly number[]): ReadonlyMap<number, PointResult> {
  const wanted = new Set(numbers);
  const results = new Map<number, PointResult>();
  for (const line of text.split('\n')) {
    const result = resultOf(line);
    if (result && wanted.has(result.number) && !results.has(result.number))
      results.set(result.number, result);
  }
  return results;
}

function resultOf(line: string): PointResult | undefined {
  const value = parsed(line);
  if (!isObject(value)) return undefined;
  const { number, status: given, message, startedMs, endedMs, outputs } = value;
  const status = POINT_STATUSES.find((each) => each === given);
  if (typeof number !== 'number' || status === undefined || !isDuration(startedMs) || !isDuration(endedMs))
    return undefined;
  const isMessage = typeof message === 'string' && message.length <= MAX_MESSAGE_LENGTH;
  if ((!isMessage && message !== null) || endedMs < startedMs || !areOutputs(outputs)) return undefined;
  return { number, status, message, startedMs, endedMs, outputs };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function areOutputs(value: unknown): value is readonly PointOutput[] {
  return Array.isArray(value) && value.length <= MAX_OUTPUTS && value.every(isOutput);
}

function isOutput(value: unknown): value is PointOutput {
  if (!isObject(value) || typeof value['path'] !== 'string') return false;
  const content = value['text'] ?? value['base64'];
  return typeof content === 'string' && relativePathFault(value['path']) === undefined;
}

/** A hundred years: longer than any bundle takes, and a time that can be shown. */
const MAX_DURATION_MS = 100 * 365 * 86_400_000;

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_DURATION_MS;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
