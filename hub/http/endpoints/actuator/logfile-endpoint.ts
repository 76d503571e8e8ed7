/** The hub's log file (contract 9.4), whole or in part. */
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { ByteRange } from '../../../core/ports/blobs.js';
import { type LogQuery, logQuery } from '../../requests/parsing/log-query.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { startOfLastLines } from '../../wire/log-file-part.js';
import { logResponse, logResponses } from '../common/log-response.js';

/** `fileInUse` gives the path of the present log file. */
export function logfileEndpoint(fileInUse: () => string): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/actuator/logfile',
      tag: 'Service',
      operationId: 'getHubLog',
      summary: 'The log file of the hub',
      description:
        'The current file, without those that were rotated. `tail` and `offset` select a part, and `Range: bytes=…` one ' +
        'range of that. Offsets count bytes.',
      query: logQuery,
      responses: logResponses('The whole file, or the part.'),
    },
    async ({ query, context }) => {
      const file = await openIfPresent(fileInUse());
      let isSent = false;
      try {
        // The file may grow meanwhile; only the announced part is sent.
        const sizeBytes = file === null ? 0 : (await file.stat()).size;
        const from = file === null ? 0 : await startOf(file, sizeBytes, query);
        const openPart = ({ start, end }: ByteRange) => {
          isSent = true;
          const range = { start: from + start, end: from + end };
          return streamOf(file as FileHandle, range);
        };
        const isInPart = query.tail !== undefined || query.offset !== undefined;
        const positions = isInPart ? { offset: from, nextOffset: sizeBytes } : null;
        return logResponse(
          context,
          { name: 'the log file', sizeBytes: sizeBytes - from, open: openPart },
          positions,
        );
      } finally {
        if (!isSent) await file?.close();
      }
    },
  );
}

/** Null for a file that does not exist yet. */
async function openIfPresent(path: string): Promise<FileHandle | null> {
  try {
    return await open(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

/** An offset beyond the end is of a file that was rotated. */
async function startOf(file: FileHandle, sizeBytes: number, query: LogQuery): Promise<number> {
  const { tail, offset = 0 } = query;
  if (tail === undefined) return offset > sizeBytes ? 0 : offset;
  return startOfLastLines((range) => bytesOf(file, range), sizeBytes, tail);
}

async function* bytesOf(file: FileHandle, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
  yield buffer.subarray(0, bytesRead);
}

/** Stream of a range that is not empty; closes the file at its end. */
function streamOf(file: FileHandle, { start, end }: ByteRange): ReadableStream<Uint8Array> {
  return Readable.toWeb(file.createReadStream({ start, end: end - 1 })) as ReadableStream<Uint8Array>;
}
