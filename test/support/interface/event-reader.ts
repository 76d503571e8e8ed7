/** A client of a stream of server-sent events (WHATWG HTML, section 9.2). */

export interface ReadEvent {
  readonly type: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

export interface EventReaderOptions {
  readonly token?: string | undefined;
  readonly lastEventId?: string;
}

export class EventReader {
  readonly response: Response;
  /** The id of the latest block, with which the stream goes on. */
  lastId = '';
  /** Comments so far. */
  comments = 0;
  readonly #abort: AbortController;
  readonly #events: AsyncGenerator<ReadEvent>;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#events = this.#read();
  }

  static async open(
    hub: { readonly address: string },
    pathAndQuery: string,
    { token, lastEventId }: EventReaderOptions = {},
  ): Promise<EventReader> {
    const abort = new AbortController();
    const response = await fetch(hub.address + pathAndQuery, {
      signal: abort.signal,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
    });
    return new EventReader(response, abort);
  }

  /** The next event; undefined at the end of the stream. */
  async next(): Promise<ReadEvent | undefined> {
    const { value, done } = await this.#events.next();
    return done ? undefined : value;
  }

  /** The next event that is wanted; fails at the end of the stream. */
  async find(isWanted: (event: ReadEvent) => boolean): Promise<ReadEvent> {
    for (;;) {
      const event = await this.next();
      if (!event) throw new Error('the stream has ended');
      if (isWanted(event)) return event;
    }
  }

  /** All events up to the end of the stream. */
  async rest(): Promise<ReadEvent[]> {
    const events: ReadEvent[] = [];
    for (let event = await this.next(); event; event = await this.next()) events.push(event);
    return events;
  }

  close(): void {
    this.#abort.abort();
  }

  async *#read(): AsyncGenerator<ReadEvent> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of this.response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = this.#eventOf(text.slice(0, end));
        text = text.slice(end + 2);
        if (event) yield event;
      }
    }
  }

  #eventOf(block: string): ReadEvent | undefined {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      if (line.startsWith(':')) this.comments++;
      else fields.set(line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2));
    }
    this.lastId = fields.get('id') ?? this.lastId;
    const data = fields.get('data');
    if (data === undefined) return undefined;
    return { type: fields.get('event') ?? 'message', id: this.lastId, data: JSON.parse(data) };
  }
}
