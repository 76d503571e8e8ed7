/** Reads the responses of one HTTP/1.1 connection, one after the other. */

export interface ReadAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly lengthBytes: number;
}

const END_OF_HEAD = '\r\n\r\n';

/** Reader of responses with a Content-Length. */
export class AnswerReader {
  readonly #onAnswer: (answer: ReadAnswer) => void;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #head: Head | undefined;

  constructor(onAnswer: (answer: ReadAnswer) => void) {
    this.#onAnswer = onAnswer;
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    while (this.#take());
  }

  /** Consumes a head or a body; false when more has to arrive. */
  #take(): boolean {
    const head = this.#head;
    if (!head) {
      const all = this.#all();
      const end = all.indexOf(END_OF_HEAD);
      if (end < 0) return false;
      this.#head = headOf(all.toString('latin1', 0, end));
      this.#keep(all.subarray(end + END_OF_HEAD.length));
      return true;
    }
    if (this.#bytes < head.lengthBytes) return false;
    const all = this.#all();
    this.#head = undefined;
    this.#keep(all.subarray(head.lengthBytes));
    const { status, headers, lengthBytes } = head;
    this.#onAnswer({ status, headers, text: all.toString('utf8', 0, lengthBytes) });
    return true;
  }

  #all(): Buffer {
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
  }

  #keep(rest: Buffer): void {
    this.#pieces = [rest];
    this.#bytes = rest.length;
  }
}

function headOf(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  if (headers['content-length'] === undefined) throw new Error(`an answer without Content-Length: ${text}`);
  return { status: Number(first.split(' ')[1]), headers, lengthBytes: Number(headers['content-length']) };
}
