/** Responses with the output files of a task: JSON that is written while the files are read, so that a result of any size takes
 *  little memory. */
import type { Hold } from '../../../core/ports/blobs.js';
import type { OutputFile } from '../../../engine/tasks/tasks.js';
import type { ResponseRoom } from '../../wire/response-memory.js';

/** Largest result that is built as a whole, so that a failure can still become an error response. */
const WHOLE_BYTES = 1024 * 1024;

/** Memory for each byte of the files: their Base64 (4 characters for 3 bytes), and its copy for the connection. */
const MEMORY_PER_BYTE = (2 * 4) / 3;

const JSON_TYPE = { 'content-type': 'application/json' };

/** `head` is the response without its files; `outputs` is null before the end of the task. `onFailure` is called with the reason
 *  why a response is aborted, `beginHold` when the first byte is written. Throws OVERLOADED when there is no memory for the
 *  response. */
export async function resultResponse(
  head: object,
  outputs: readonly OutputFile[] | null,
  room: ResponseRoom,
  beginHold: () => Hold,
  onFailure: (error: unknown) => void,
): Promise<Response> {
  if (outputs === null) return Response.json(head);
  const totalBytes = outputs.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  room.hold(totalBytes <= WHOLE_BYTES ? Math.ceil(totalBytes * MEMORY_PER_BYTE) : 0);
  const chunks = jsonChunks(head, outputs);
  if (totalBytes <= WHOLE_BYTES) {
    let text = '';
    for await (const chunk of chunks) text += chunk;
    return new Response(text, { headers: JSON_TYPE });
  }
  let hold: Hold | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (!hold) {
          hold = beginHold();
          for (const output of outputs) output.keepBy(hold);
        }
        try {
          const chunk = await chunks.next();
          if (!chunk.done) return controller.enqueue(Buffer.from(chunk.value));
          hold.release();
          controller.close();
        } catch (error) {
          hold.release();
          onFailure(error);
          throw error;
        }
      },
      cancel: async () => {
        hold?.release();
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: JSON_TYPE });
}

async function* jsonChunks(head: object, outputs: readonly OutputFile[]): AsyncGenerator<string, void> {
  const opened = JSON.stringify(head).slice(0, -1);
  yield `${opened}${opened === '{' ? '' : ','}"outputFiles":[`;
  for (const [index, { path, open }] of outputs.entries()) {
    const slash = path.lastIndexOf('/');
    const directory = slash < 0 ? '' : `"directory":${JSON.stringify(path.slice(0, slash))},`;
    yield `${index === 0 ? '' : ','}{${directory}"filename":${JSON.stringify(path.slice(slash + 1))},"content":"`;
    yield* base64Chunks(await open());
    yield '"}';
  }
  yield ']}';
}

/** Encodes three bytes as four characters: the rest of a chunk is encoded with the next. */
async function* base64Chunks(content: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
  }
  if (rest.length > 0) yield rest.toString('base64');
}
