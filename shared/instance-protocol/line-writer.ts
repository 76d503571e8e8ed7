import type { Writable } from 'node:stream';

/** Length from which lines are written before the turn ends. */
const PIECE_LENGTH = 64 * 1024;

export interface LineWriter {
  /** Queues a line until the end of this turn of the event loop. Resolves when it is written and the stream takes more; never
   *  rejects: a broken stream reports that by its event `error`. */
  write(line: string): Promise<void>;
  /** Writes all queued lines now. */
  flush(): void;
}

interface Batch {
  text: string;
  readonly written: Promise<void>;
  readonly resolve: () => void;
}

/** Writes the lines of one turn of the event loop together. */
export function lineWriter(stream: Writable): LineWriter {
  let batch: Batch | undefined;
  let isScheduled = false;

  const flush = (): void => {
    if (!batch) return;
    const { text, resolve } = batch;
    batch = undefined;
    if (stream.write(text) || stream.destroyed) {
      resolve();
      return;
    }
    const over = () => {
      stream.off('drain', over);
      stream.off('close', over);
      resolve();
    };
    stream.on('drain', over);
    stream.on('close', over);
  };
  const flushLater = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      flush();
    });
  };

  return {
    write(line) {
      batch ??= newBatch();
      batch.text += `${line}\n`;
      const { written } = batch;
      if (batch.text.length >= PIECE_LENGTH) flush();
      else flushLater();
      return written;
    },
    flush,
  };
}

function newBatch(): Batch {
  let resolve: () => void = () => undefined;
  const written = new Promise<void>((take) => {
    resolve = take;
  });
  return { text: '', written, resolve };
}
