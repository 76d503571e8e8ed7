/** Results of the points of a bundle: a file of lines that the instance program leaves, and the hub reads (decision 0088). */
import { relativePathFault } from './relative-path.js';

/** Output file of a bundle, with a line of JSON for each point that was run. */
export const POINTS_FILE = 'points.ndjson';

/** Points that a bundle has at most. */
export const MAX_BUNDLED_POINTS = 250;

/** Size of all outputs of a point of a bundle, which its line contains. */
const MAX_BUNDLED_OUTPUT_BYTES = 8 * 1024;

const MAX_OUTPUTS = 20;
const MAX_MESSAGE_LENGTH = 10_000;
/** Lines beside those of the points that are looked at. */
const MAX_OTHER_LINES = 10;

/** Size of the line of a point, in which each byte of its outputs may take several. */
const MAX_LINE_BYTES = 64 * 1024;

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

/** Whether the line of a point can have outputs with these paths and sizes. */
export function mayBeBundled(
  outputs: readonly { readonly path: string; readonly sizeBytes: number }[],
): boolean {
  const sizeBytes = outputs.reduce((sum, output) => sum + output.sizeBytes, 0);
  const areFew = outputs.length <= MAX_OUTPUTS && sizeBytes <= MAX_BUNDLED_OUTPUT_BYTES;
  return areFew && outputs.every(({ path }) => relativePathFault(path) === undefined);
}

/** Size of the file with the results of so many points; a larger one has none. */
export function maxPointsFileBytes(pointCount: number): number {
  return pointCount * MAX_LINE_BYTES;
}

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

/** Results of the points with these numbers, the first of each. Lines that are none are passed over, since a program may write anything,
 *  but only a few of them. */
export function pointResults(text: string, numbers: readonly number[]): ReadonlyMap<number, PointResult> {
  const wanted = new Set(numbers);
  const results = new Map<number, PointResult>();
  let linesLeft = MAX_BUNDLED_POINTS + MAX_OTHER_LINES;
  for (let at = 0; at < text.length && linesLeft > 0 && results.size < wanted.size; linesLeft--) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? text.length : end);
    const result = line.startsWith('{') ? resultOf(line) : undefined;
    if (result && wanted.has(result.number) && !results.has(result.number))
      results.set(result.number, result);
    at += line.length + 1;
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
  if ((!isMessage && message !== null) || endedMs < startedMs) return undefined;
  const checked = outputsOf(outputs);
  return checked && { number, status, message, startedMs, endedMs, outputs: checked };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function outputsOf(value: unknown): readonly PointOutput[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_OUTPUTS) return undefined;
  const outputs = value.flatMap((each) => outputOf(each) ?? []);
  return outputs.length === value.length ? outputs : undefined;
}

function outputOf(value: unknown): PointOutput | undefined {
  if (!isObject(value)) return undefined;
  const { path, text, base64 } = value;
  if (typeof path !== 'string' || relativePathFault(path) !== undefined) return undefined;
  if (typeof text === 'string') return { path, text };
  return typeof base64 === 'string' ? { path, base64 } : undefined;
}

/** A hundred years: longer than any bundle takes, and a time that can be shown. */
const MAX_DURATION_MS = 100 * 365 * 86_400_000;

function isDuration(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_DURATION_MS;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
