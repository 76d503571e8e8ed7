/** Configuration values that YAML does not have: durations and sizes (contract 13.2). */
import { z } from 'zod';

const DURATION_UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZE_UNITS_BYTES: Record<string, number> = {
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

const DURATION_ALLOWED = 'a duration such as 500ms, 30s, 15m, 12h or 7d';
const SIZE_ALLOWED = 'a size such as 64MiB or 2GiB, or a number of bytes';

/** `30s`, `15m`, `12h`, `7d`; the value is in milliseconds. */
export function duration({ minMs = 1 }: { minMs?: number } = {}) {
  return z
    .string({ error: DURATION_ALLOWED })
    .transform((text, context) => parseUnit(text, DURATION_UNITS_MS, minMs, DURATION_ALLOWED, context));
}

/** `64MiB`, `2GiB`, or plain bytes; the value is in bytes. */
export function size({ minBytes = 1 }: { minBytes?: number } = {}) {
  return z
    .union([z.string(), z.int()], { error: SIZE_ALLOWED })
    .transform((value, context) =>
      parseUnit(`${value}`, { '': 1, ...SIZE_UNITS_BYTES }, minBytes, SIZE_ALLOWED, context),
    );
}

/** A secret: its value is omitted from every error. */
export function secret() {
  return z.string({ error: 'a text' }).min(1, { error: 'a text that is not empty' }).meta({ secret: true });
}

/** A group of keys; if omitted, each of its keys has its own default. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as never);
}

function parseUnit(
  text: string,
  units: Record<string, number>,
  least: number,
  allowed: string,
  context: z.core.$RefinementCtx,
): number {
  const [, digits, unit] = /^(\d+)\s*([A-Za-z]*)$/.exec(text.trim()) ?? [];
  const factor = unit === undefined ? undefined : Object.hasOwn(units, unit) ? units[unit] : undefined;
  const value = Number(digits) * (factor ?? Number.NaN);
  if (!Number.isSafeInteger(value) || value < least) {
    context.addIssue({ code: 'custom', message: allowed });
    return z.NEVER;
  }
  return value;
}
