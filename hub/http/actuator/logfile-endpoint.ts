/** The hub's log file (contract 9.4), whole or in part. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { HubError } from '../../core/errors.js';
import { contentRange, rangeOf } from '../parsing/byte-range.js';
import { type Endpoint, endpoint } from '../routing/endpoint.js';

const TEXT = { 'content-type': 'text/plain; charset=utf-8', 'accept-ranges': 'bytes' };

export function logfileEndpoint(file: string): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/actuator/logfile',
      tag: 'Service',
      operationId: 'getHubLog',
      summary: 'The log file of the hub',
      description: 'Supports `Range: bytes=…` with one range.',
      responses: {
        200: { description: 'The whole file.', schema: z.string(), contentType: 'text/plain' },
        206: { description: 'The requested range.', schema: z.string(), contentType: 'text/plain' },
        416: { description: 'The file has no such range.' },
      },
    },
    async ({ context }) => {
      const sizeBytes = await sizeOf(file);
      const range = rangeOf(context.req.header('range'), sizeBytes);
      if (range === 'UNSATISFIABLE') {
        context.header('Content-Range', `bytes */${sizeBytes}`);
        throw new HubError('RANGE_NOT_SATISFIABLE', `the log file has ${sizeBytes} bytes`);
      }
      if (sizeBytes === 0) return context.body('', 200, TEXT);
      // The file may grow meanwhile; only the announced part is sent.
      const { start, end } = range ?? { start: 0, end: sizeBytes };
      const body = Readable.toWeb(createReadStream(file, { start, end: end - 1 })) as ReadableStream;
      const headers = { ...TEXT, 'content-length': String(end - start) };
      if (!range) return context.body(body, 200, headers);
      return context.body(body, 206, { ...headers, 'content-range': contentRange(range, sizeBytes) });
    },
  );
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return 0;
  }
}
