/** Main module of the process that reads values. It ends when the hub ends it, or has ended itself, which closes its input. */
import { readValues } from './read-values.js';
import { type ReadRequest, type ReadResponse, STOP_SIGNALS } from './reader-messages.js';

let request: ReadRequest | undefined;
/** Content that has arrived. */
let pieces: Buffer[] = [];
let arrivedBytes = 0;

// A terminal and systemd send these to the hub's processes, too; the hub still waits for values then.
for (const signal of STOP_SIGNALS) process.on(signal, () => undefined);
process.on('message', (message) => {
  request = message as ReadRequest;
  answerWhenComplete();
});
process.stdin.on('data', (piece: Buffer) => {
  pieces.push(piece);
  arrivedBytes += piece.length;
  answerWhenComplete();
});

function answerWhenComplete(): void {
  if (request === undefined || arrivedBytes < request.sizeBytes) return;
  const { rules } = request;
  const content = Buffer.concat(pieces);
  request = undefined;
  pieces = [];
  arrivedBytes = 0;
  process.send?.(responseTo(rules, content));
}

function responseTo(rules: ReadRequest['rules'], content: Buffer): ReadResponse {
  try {
    return { kind: 'values', values: readValues(rules, content) };
  } catch (error) {
    return { kind: 'failed', stack: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
