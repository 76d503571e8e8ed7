/** The `log` section of the configuration of hub and agent. */
import { z } from 'zod';
import { LOG_LEVELS, type LogSettings } from '../runtime/logger.js';
import { duration, section, size } from './values.js';

const MIN_FILE_BYTES = 64 * 1024;
const MIN_PERIOD_MS = 60_000;

export function logSection() {
  return section({
    level: z.enum(LOG_LEVELS).default('info'),
    /** Default: a file in `<dataDir>/logs`. */
    file: z.string().min(1).nullable().default(null),
    /** Rotation by the program itself; null for none. */
    rotate: z
      .strictObject({
        maxFileSize: size({ minBytes: MIN_FILE_BYTES }).default(64 * 1024 ** 2),
        /** Period after which a new file begins; null for none. */
        every: duration({ minMs: MIN_PERIOD_MS }).nullable().default(null),
        keepFiles: z.int().min(1).default(10),
      })
      .nullable()
      .default(null),
  });
}

export type LogSection = z.output<ReturnType<typeof logSection>>;

/** Settings of the log whose file is at this path; null for a program without one. */
export function logSettings({ level, rotate }: LogSection, file: string | null): LogSettings {
  return {
    level,
    file,
    rotation: rotate && {
      maxFileBytes: rotate.maxFileSize,
      everyMs: rotate.every,
      keepFiles: rotate.keepFiles,
    },
  };
}
