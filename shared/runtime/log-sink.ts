/**
 * Writes log lines to a file without ever holding up the program or ending it: a disk that is full, a pipe that nobody reads or a
 * terminal that has gone loses lines, which are counted and reported once writing works again.
 */
import { write } from 'node:fs';

/** A file or stream to which a sink appends. */
export interface LogTarget {
  /** Appends whole lines; rejects when they, or the rest of them, cannot be written. */
  append(lines: Buffer): Promise<void>;
}

export interface LogSink {
  write(line: string): void;
  /** Resolves when all lines so far are written or lost. */
  flushed(): Promise<void>;
}

/** Maximum length of buffered lines; further ones are lost. */
const MAX_WAITING_LENGTH = 4 * 1024 * 1024;

/** Delay before the next write to a full pipe. */
const FULL_PIPE_PAUSE_MS = 20;

/** `lostNote` formats the line that reports lost lines. */
export function logSink(target: LogTarget, lostNote: (lines: number) => string): LogSink {
  let waiting: string[] = [];
  let waitingLength = 0;
  let lostLines = 0;
  let writing: Promise<void> | undefined;

  const writeBatch = async (): Promise<void> => {
    const lines = waiting;
    const note = lostLines > 0 ? lostNote(lostLines) : '';
    const told = lostLines;
    waiting = [];
    waitingLength = 0;
    lostLines = 0;
    try {
      await target.append(Buffer.from(note + lines.join('')));
    } catch {
      // The loss is reported later.
      lostLines += told + lines.length;
    }
  };

  const writeWaiting = async (): Promise<void> => {
    while (waiting.length > 0) await writeBatch();
    writing = undefined;
  };

  return {
    write(line) {
      if (waitingLength + line.length > MAX_WAITING_LENGTH) {
        lostLines++;
        return;
      }
      waiting.push(line);
      waitingLength += line.length;
      writing ??= Promise.resolve().then(writeWaiting);
    },
    flushed: async () => {
      while (writing !== undefined) await writing;
    },
  };
}

/** An open descriptor, such as standard output, as a target. */
export function descriptorTarget(fd: number): LogTarget {
  return { append: (lines) => writeAll(fd, lines) };
}

async function writeAll(fd: number, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += await writeSome(fd, bytes, written);
  }
}

function writeSome(fd: number, bytes: Buffer, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, from, bytes.length - from, null, (error, count) => {
      if (!error) resolve(count);
      else if (error.code === 'EAGAIN') setTimeout(() => resolve(0), FULL_PIPE_PAUSE_MS);
      else reject(error);
    });
  });
}
