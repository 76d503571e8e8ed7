/** The built pages of the console, as `deploy/build-console.mjs` leaves them. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';

export type Encoding = 'br' | 'gzip';

export interface SiteFile {
  /** With the hash of the content in it. */
  readonly name: string;
  /** Media type. */
  readonly type: string;
  readonly encodings: readonly Encoding[];
}

export interface Site {
  /** Paths of the screens, with `:name` for parameters. */
  readonly pages: readonly string[];
  /** The HTML page of all screens. */
  readonly page: string;
  readonly files: readonly SiteFile[];
  /** Content of a file; without an encoding, as it is. */
  read(name: string, encoding: Encoding | undefined): Promise<Buffer<ArrayBuffer>>;
}

const manifestSchema = z.object({
  pages: z.array(z.string()),
  page: z.string(),
  files: z.array(
    z.object({ name: z.string(), type: z.string(), encodings: z.array(z.enum(['br', 'gzip'])) }),
  ),
});

/** The pages that come with the hub. Throws when they were not built. */
export function ownSite(): Site {
  const require = createRequire(import.meta.url);
  const folder = join(dirname(require.resolve('@workbench-hub/console/package.json')), 'dist/site');
  const manifest = manifestSchema.parse(JSON.parse(manifestIn(folder)));
  // One copy for all clients, also for those that do not read it.
  const contents = new Map<string, Promise<Buffer<ArrayBuffer>>>();
  return {
    ...manifest,
    read: (name, encoding) => {
      const file = encoding === undefined ? name : `${name}.${encoding}`;
      const content = contents.get(file) ?? readFile(join(folder, file));
      contents.set(file, content);
      return content;
    },
  };
}

function manifestIn(folder: string): string {
  try {
    return readFileSync(join(folder, 'site.json'), 'utf8');
  } catch (error) {
    throw new Error(`the console is not built: run npm run build, or set console.enabled: false`, {
      cause: error,
    });
  }
}
