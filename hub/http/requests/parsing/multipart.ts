/** Reading of the one file in a multipart/form-data body (RFC 7578) as it arrives. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyConfig, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { type HubError, invalidInput } from '../../../core/errors.js';
import { BodyChunks } from './body-chunks.js';

/** Other parts are ignored, as unknown fields are; nobody sends that many. */
const LIMITS = { parts: 100, fieldSize: 64 * 1024, headerSize: 16 * 1024 };

const PART = 'file';

/**
 * Passes the file of the part `file` to `take`, with its file name as sent. `take` has to read the content to its end or fail.
 * Resolves with its result when the body has ended correctly: until then, the file must not count. Rejects as `take` does, or
 * with INVALID_INPUT; the rest of the body is then left unread.
 */
export async function receiveFile<T>(
  request: IncomingMessage,
  take: (fileName: string, content: Readable) => Promise<T>,
): Promise<T> {
  const parser = formParser(request, LIMITS, `, and the part ${PART}`);
  let content: Readable | undefined;
  let taken: Promise<T> | undefined;
  const chunks = new BodyChunks();
  let onChunk: ((chunk: Buffer) => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      parser.on('file', (part, stream, fileName) => {
        // Reported by the parser, or by the reader.
        stream.on('error', () => undefined);
        if (part !== PART)
          return reject(invalidPart(`is required; the part ${JSON.stringify(part)} is not known`));
        if (content) return reject(invalidPart('must be given once'));
        if (fileName === undefined) return reject(withoutName());
        content = stream;
        taken = take(fileName, stream);
        taken.catch(reject);
      });
      parser.on('field', (part) => {
        if (part === PART) reject(withoutName());
      });
      parser.once('partsLimit', () => reject(invalidPart(`must be among the first ${LIMITS.parts} parts`)));
      parser.once('error', (error) => reject(unreadableForm(error)));
      parser.once('finish', resolve);
      request.once('close', () => {
        if (!request.complete) reject(cutOff());
      });
      onChunk = (chunk) => {
        const tooShort = chunks.errorOf(chunk.length);
        if (tooShort) reject(tooShort);
      };
      request.on('data', onChunk);
      request.pipe(parser);
    });
    if (!taken)
      throw invalidPart('is required: a part of that name, with a file name in its Content-Disposition');
    return await taken;
  } catch (error) {
    // The request stays open for the response; its rest is not read.
    request.unpipe(parser);
    content?.destroy(error as Error);
    await taken?.catch(() => undefined);
    throw error;
  } finally {
    if (onChunk) request.off('data', onChunk);
  }
}

/** Throws INVALID_INPUT for a body that is no form; `more` is said of what is required. */
export function formParser(
  request: IncomingMessage,
  limits: NonNullable<BusboyConfig['limits']>,
  more = '',
): BusboyInstance {
  const { headers } = request;
  if (!/^multipart\/form-data\s*;/i.test(headers['content-type'] ?? '')) {
    throw invalidInput([{ where: 'body', what: `must be multipart/form-data with a boundary${more}` }]);
  }
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      // A name with a path in it is refused later; shortened, it would be another name.
      preservePath: true,
      fileHwm: 1024 * 1024,
      limits,
    });
  } catch (error) {
    throw unreadableForm(error);
  }
}

function invalidPart(what: string): HubError {
  return invalidInput([{ where: PART, what }]);
}

function withoutName(): HubError {
  return invalidPart('must have a file name in its Content-Disposition');
}

export function unreadableForm(error: unknown): HubError {
  return invalidInput([
    { where: 'body', what: `is no multipart/form-data: ${(error as Error).message.replace(/\.$/, '')}` },
  ]);
}

/** Never sent: the client has disconnected. */
function cutOff(): HubError {
  return invalidInput([{ where: 'body', what: 'was aborted' }]);
}
