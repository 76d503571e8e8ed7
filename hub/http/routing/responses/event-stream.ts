/**
 * Server-sent events (WHATWG HTML, section 9.2), written to the connection directly: thousands of clients may listen at once, and
 * all of them share the bytes that they get.
 */
import type { HttpBindings } from '@hono/node-server';
import { ALREADY_SENT } from '../../wire/already-sent.js';
import { DeflatedResponse, SharedBytes } from '../../wire/shared-bytes.js';
import type { DeferredRequest } from './deferred-response.js';

/** The connection of a client that listens. */
export interface EventConnection {
  /** The `Authorization` header of its request; usually the same for all connections of a session. */
  readonly authorization: string | undefined;
  /** Bytes that the client has not taken yet. */
  readonly unreadBytes: number;
  /** Sends bytes, compressed if the client and the stream take that. */
  send(bytes: SharedBytes): void;
  end(): void;
  /** Rejects or throws when the caller may no longer listen. */
  reauthorize(): unknown;
  /** Called whenever the client has taken all bytes. */
  onRead(listener: () => void): void;
  /** Called once, also after {@link end}. */
  onClosed(listener: () => void): void;
}

/** A response that goes on until its client leaves or `end` is called. It must not hold the context of its request. */
export class EventStreamResponse {
  readonly open: (connection: EventConnection) => void;
  /** Called once when the response has ended, also if it was never opened. */
  readonly ended: () => void;
  /** Whether it is compressed for clients that take `deflate`: worthwhile where connections share their bytes. */
  readonly isCompressed: boolean;

  constructor(
    open: EventStreamResponse['open'],
    { ended, isCompressed = false }: { readonly ended: () => void; readonly isCompressed?: boolean },
  ) {
    this.open = open;
    this.ended = ended;
    this.isCompressed = isCompressed;
  }
}

export const EVENT_STREAM = 'text/event-stream';

const HEADERS = {
  'content-type': EVENT_STREAM,
  // A proxy would hold events back until it has enough of them.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** Begins the response. Returns what the handler returns meanwhile. */
export function streamEvents(
  stream: EventStreamResponse,
  { incoming, outgoing }: HttpBindings,
  request: Pick<DeferredRequest, 'reauthorize' | 'ended'>,
): Response {
  const ended = (status: number | null) => {
    stream.ended();
    request.ended(status);
  };
  if (incoming.method === 'HEAD') {
    ended(200);
    return new Response(null, { headers: HEADERS });
  }
  if (outgoing.destroyed) {
    ended(null);
    return ALREADY_SENT;
  }
  // The end of the connection is the end of the stream: without chunks, each write is one shared piece of memory.
  outgoing.removeHeader('transfer-encoding');
  const deflated =
    stream.isCompressed && takesDeflate(incoming.headers['accept-encoding'])
      ? new DeflatedResponse()
      : undefined;
  outgoing.writeHead(200, {
    ...HEADERS,
    ...(stream.isCompressed ? { vary: 'accept-encoding' } : {}),
    ...(deflated ? { 'content-encoding': 'deflate' } : {}),
    connection: 'close',
  });
  outgoing.flushHeaders();
  outgoing.once('close', () => ended(200));
  const write = (bytes: Buffer) => {
    if (!outgoing.destroyed && !outgoing.writableEnded) outgoing.write(bytes);
  };
  if (deflated) write(deflated.begin());
  stream.open({
    authorization: incoming.headers.authorization,
    get unreadBytes() {
      return outgoing.writableLength;
    },
    send: (bytes) => write(deflated ? deflated.part(bytes) : bytes.plain),
    end: () => {
      if (deflated) write(deflated.end());
      outgoing.end();
    },
    reauthorize: () => request.reauthorize(),
    onRead: (listener) => void outgoing.on('drain', listener),
    onClosed: (listener) => void outgoing.once('close', listener),
  });
  return ALREADY_SENT;
}

/** Whether a client takes the encoding `deflate`. */
function takesDeflate(accepted: string | string[] | undefined): boolean {
  return /(?:^|,)\s*deflate\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i.test(
    String(accepted ?? ''),
  );
}

/** An event as shared bytes. */
export function eventBytes(type: string, id: string, data: string): SharedBytes {
  return new SharedBytes(eventText(type, id, data));
}

/** Bytes of one event; `data` must hold no line break. */
export function eventText(type: string, id: string, data: string): string {
  return `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`;
}
