/** A log that is read in parts, from its latest lines on. */

export interface LogPart {
  readonly text: string;
  /** Position of its first character; undefined when the log has no positions. */
  readonly offset: number | undefined;
  /** Position after its last one. */
  readonly next: number | undefined;
}

/** Part of a log by its last lines, or from a position on. */
export type LogPlace = { readonly tail: number } | { readonly offset: number };

interface Reader {
  read(place: LogPlace): Promise<LogPart>;
  /** Called with what is new. `isAnew`: what was there before belongs to an earlier log. */
  onText(text: string, isAnew: boolean): void;
  /** Called with each failure, and with undefined once it has passed. */
  onError(error: Error | undefined): void;
  /** Resolves when it is time to read again. */
  pause(): Promise<void>;
}

/** Lines at the beginning; the most that the hub gives. */
const TAIL = 10_000;

/** Reads until the signal is aborted. */
export async function followLog(reader: Reader, signal: AbortSignal): Promise<void> {
  let at: number | undefined;
  while (!signal.aborted) {
    try {
      const part = await reader.read(at === undefined ? { tail: TAIL } : { offset: at });
      if (signal.aborted) return;
      // A log without positions comes whole each time; one that is shorter than before has begun anew.
      const isAnew = at === undefined || part.offset === undefined || part.offset < at;
      if (isAnew || part.text !== '') reader.onText(part.text, isAnew);
      at = part.next;
      reader.onError(undefined);
    } catch (error) {
      if (signal.aborted) return;
      reader.onError(error as Error);
    }
    await reader.pause();
  }
}

/** The part of a log in a response. */
export async function logPartOf(response: Response): Promise<LogPart> {
  return {
    text: await response.text(),
    offset: numberIn(response.headers.get('log-offset')),
    next: numberIn(response.headers.get('log-next-offset')),
  };
}

function numberIn(header: string | null): number | undefined {
  return header === null ? undefined : Number(header);
}
