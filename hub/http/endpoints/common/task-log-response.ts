import type { Context } from 'hono';
import { partOfText } from '../../../core/log-parts.js';
import type { FoundBlob } from '../../../core/ports/blobs.js';
import type { TaskLog } from '../../../engine/tasks/tasks.js';
import type { LogQuery } from '../../requests/parsing/log-query.js';
import { blobStream } from '../../wire/blob-stream.js';
import { startOfPart } from '../../wire/log-file-part.js';
import { logResponse, positionHeaders, positionsOf, textContent } from './log-response.js';

const NAME = 'the log of the task';

/** The log of a task, or the part that the query asks for; 204 without any text. Only a log that may grow has positions. */
export async function taskLogResponse(
  context: Context,
  taskLog: TaskLog,
  query: LogQuery,
  onFailure: (error: unknown) => void,
): Promise<Response> {
  switch (taskLog.kind) {
    case 'NONE':
      return context.body(null, 204);
    case 'FILE':
      return fileResponse(context, taskLog.file, query, onFailure);
    case 'TEXT': {
      const isInPart = query.tail !== undefined || query.offset !== undefined;
      const part = partOfText(taskLog.output, query);
      const positions = isInPart ? positionsOf(part) : null;
      const text = isInPart ? part.text : taskLog.text;
      if (text === '') return context.body(null, 204, positions ? positionHeaders(positions) : {});
      return logResponse(context, textContent(NAME, text), positions);
    }
  }
}

async function fileResponse(
  context: Context,
  file: FoundBlob,
  query: LogQuery,
  onFailure: (error: unknown) => void,
): Promise<Response> {
  const from = await startOfPart((range) => file.open(range), file.sizeBytes, query);
  if (from === file.sizeBytes) return context.body(null, 204);
  const open = ({ start, end }: { start: number; end: number }) =>
    blobStream(file, onFailure, { start: from + start, end: from + end });
  return logResponse(context, { name: NAME, sizeBytes: file.sizeBytes - from, open }, null);
}
