/** The answer with a task's output files: JSON that is written while the files are read, so that a result of any size
 *  takes little memory. */
import type { Hold } from '../../core/ports/files.js';
import type { OutputFile } from '../../engine/tasks.js';
import type { ResponseRoom } from '../server/response-memory.js';

/** Results up to this size are put together first: then a fault can still become an error answer. */
const WHOLE_BYTES = 1024 * 1024;

/** Memory per byte of the files: their Base64 (4 characters for 3 bytes), and its copy for the connection. */
const MEMORY_PER_BYTE = (2 * 4) / 3;

const JSON_TYPE = { 'content-type': 'application/json' };

/** `head` is the answer without its files; `outputs` is null before the end of the task. `onFault` hears why an answer that
 *  has begun is broken off; `beginHold` is called when the answer begins to be written. Throws OVERLOADED when there is no room for the answer. */
export async function answerWithOutputs(
  head: object,
  outputs: readonly OutputFile[] | null,
  room: ResponseRoom,
  beginHold: () => Hold,
  onFault: (error: unknown) => void,
): Promise<Response> {
  if (outputs === null) return Response.json(head);
  const totalBytes = outputs.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  room.hold(totalBytes <= WHOLE_BYTES ? Math.ceil(totalBytes * MEMORY_PER_BYTE) : 0);
  const pieces = jsonPieces(head, outputs);
  if (totalBytes <= WHOLE_BYTES) {
    let text = '';
    for await (const piece of pieces) text += piece;
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
          const piece = await pieces.next();
          if (!piece.done) return controller.enqueue(Buffer.from(piece.value));
          hold.release();
          controller.close();
        } catch (error) {
          hold.release();
          onFault(error);
          throw error;
        }
      },
      cancel: async () => {
        hold?.release();
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: JSON_TYPE });
}

async function* jsonPieces(head: object, outputs: readonly OutputFile[]): AsyncGenerator<string, void> {
  const opened = JSON.stringify(head).slice(0, -1);
  yield `${opened}${opened === '{' ? '' : ','}"outputFiles":[`;
  for (const [index, { path, open }] of outputs.entries()) {
    const slash = path.lastIndexOf('/');
    const directory = slash < 0 ? '' : `"directory":${JSON.stringify(path.slice(0, slash))},`;
    yield `${index === 0 ? '' : ','}{${directory}"filename":${JSON.stringify(path.slice(slash + 1))},"content":"`;
    yield* base64Pieces(await open());
    yield '"}';
  }
  yield ']}';
}

/** Three bytes are four characters: what is left of a piece goes to the next. */
async function* base64Pieces(content: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of content) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
  }
  if (rest.length > 0) yield rest.toString('base64');
}
