/** The files of the agent in a folder that `npm run package -- --only file` has filled. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { AgentFile, AgentFiles } from '../core/ports/agent-files.js';

const DIGESTS = 'SHA256SUMS';
const LINE = /^([0-9a-f]{64}) [ *](.+)$/;

/** Finds and checks the files of this version. Rejects with {@link StartRefused} when there is none, and when one is damaged. */
export async function openAgentFiles(folder: string, version: string): Promise<AgentFiles> {
  const files = new Map<string, AgentFile & { readonly path: string }>();
  const digests = await digestsIn(folder);
  for (const name of await readdir(folder)) {
    const system = systemOf(name, version);
    if (system === undefined) continue;
    const path = join(folder, name);
    const digest = await digestOf(path);
    if (digest !== digests.get(name))
      throw refusal(`${path} does not have the digest of ${DIGESTS} beside it: copy both again`);
    files.set(digest, { system, digest, sizeBytes: (await stat(path)).size, path });
  }
  if (files.size === 0) {
    throw refusal(
      `${folder} has no file of the agent of version ${version}, which is that of this hub: fill it with ` +
        '"npm run package -- --only file --out FOLDER", or remove the key',
    );
  }
  return {
    version,
    files: [...files.values()].map(({ system, digest, sizeBytes }) => ({ system, digest, sizeBytes })),
    find: (digest) => {
      const found = files.get(digest);
      if (found === undefined) return undefined;
      const { path, sizeBytes } = found;
      return {
        sizeBytes,
        isEncrypted: false,
        open: ({ start, end } = { start: 0, end: sizeBytes }) =>
          start >= end ? Readable.from([]) : createReadStream(path, { start, end: end - 1 }),
      };
    },
  };
}

function systemOf(name: string, version: string): string | undefined {
  const beginning = `workbench-agent-${version}-`;
  if (!name.startsWith(beginning)) return undefined;
  return /^((?:linux|win)-[a-z0-9]+)(?:\.exe)?$/.exec(name.slice(beginning.length))?.[1];
}

async function digestsIn(folder: string): Promise<Map<string, string>> {
  let text: string;
  try {
    text = await readFile(join(folder, DIGESTS), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refusal(`${join(folder, DIGESTS)} cannot be read (${code}): copy it with the files`, error);
  }
  const lines = text.split('\n').map((line) => LINE.exec(line) ?? []);
  return new Map(lines.map(([, digest = '', name = '']) => [name, digest]));
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

function refusal(message: string, cause?: unknown): StartRefused {
  return new StartRefused(`agents.updates.folder: ${message}`, { cause });
}
