/**
 * The link between hub and agent over any transport; this file knows no socket. It batches the messages of one turn of
 * the event loop into one frame (a JSON array), validates incoming messages, sends heartbeats when idle, and considers
 * the link dead after a silence.
 */
import type { Runtime, Timer } from '../runtime/runtime.js';
import { ValidationError } from '../validation-error.js';
import { MAX_FRAME_BYTES } from './messages.js';

/** The connection that carries the frames. */
export interface Transport {
  send(frame: string): void;
  /** Begins a clean close; the transport reports its end through {@link Link.down}. */
  close(code: number, reason: string): void;
  /** Ends the connection at once, without waiting for the other side. */
  terminate(): void;
  /** Bytes that were sent and have not left this machine; senders of optional messages look here first. */
  bufferedBytes(): number;
  /** Stops reading until `resume`; some frames that have arrived may follow. Absent where frames cannot be held back. */
  pause?(): void;
  resume?(): void;
}

/** WebSocket close codes that this protocol uses. */
export const CLOSE = { NORMAL: 1000, GOING_AWAY: 1001, PROTOCOL_ERROR: 1002, REFUSED: 4000 } as const;

export interface LinkOptions<Incoming> {
  readonly transport: Transport;
  readonly runtime: Runtime;
  /** Validates a message; throws {@link ValidationError}. */
  readonly read: (message: unknown) => Incoming;
  /** Check of each frame before its messages are parsed; an error ends the link. */
  readonly frameError?: (messages: readonly unknown[], length: number) => string | undefined;
  readonly onMessage: (message: Incoming) => void;
  /** Called once, when the link has ended for any reason. */
  readonly onDown: (reason: string) => void;
}

/** Length from which a new frame begins, so that frames stay well below the receiver's limit. */
const FRAME_TARGET_LENGTH = MAX_FRAME_BYTES / 8;

/** Maximum buffering of a non-urgent message. */
const LAZY_FLUSH_MS = 20;

/** Grace after a silence: a process that was itself blocked has unread input waiting. */
const SILENCE_GRACE_MS = 1000;

export class Link<Incoming extends { type: string }, Outgoing extends { type: string }> {
  readonly #options: LinkOptions<Incoming>;
  #outbox: string[] = [];
  #flushing = false;
  #lazyFlush: Timer | undefined;
  #ended = false;
  #isPaused = false;
  #heardAtMs: number;
  #sentAtMs: number;
  #timers: Timer[] = [];

  constructor(options: LinkOptions<Incoming>) {
    this.#options = options;
    this.#heardAtMs = this.#sentAtMs = options.runtime.clock.monotonicMs();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Begins heartbeats and silence detection. */
  watch(heartbeatIntervalMs: number, silenceLimitMs: number): void {
    this.#scheduleHeartbeat(heartbeatIntervalMs);
    this.#watchSilence(silenceLimitMs);
  }

  /** Queues a message until the end of this turn of the event loop. Dropped when the link has ended. */
  send(message: Outgoing): void {
    if (this.#ended) return;
    this.#outbox.push(JSON.stringify(message));
    if (this.#flushing) return;
    this.#flushing = true;
    this.#options.runtime.timers.soon(() => this.flush());
  }

  /** Queues a non-urgent message: it is sent with the next one, or after {@link LAZY_FLUSH_MS}. */
  sendLazily(message: Outgoing): void {
    if (this.#ended) return;
    this.#outbox.push(JSON.stringify(message));
    if (this.#flushing) return;
    this.#lazyFlush ??= this.#options.runtime.timers.after(LAZY_FLUSH_MS, () => this.flush());
  }

  /** Sends all queued messages now. */
  flush(): void {
    this.#flushing = false;
    this.#lazyFlush?.cancel();
    this.#lazyFlush = undefined;
    if (this.#ended) return;
    let frame: string[] = [];
    let length = 0;
    const sendFrame = () => {
      if (frame.length > 0) this.#options.transport.send(`[${frame.join(',')}]`);
      frame = [];
      length = 0;
    };
    for (const message of this.#outbox) {
      if (length + message.length > FRAME_TARGET_LENGTH) sendFrame();
      frame.push(message);
      length += message.length;
    }
    sendFrame();
    this.#outbox = [];
    this.#sentAtMs = this.#options.runtime.clock.monotonicMs();
  }

  /** Takes no more frames until {@link resume}. Meanwhile, the other side is not taken for silent. */
  pause(): void {
    this.#isPaused = true;
    this.#options.transport.pause?.();
  }

  resume(): void {
    this.#isPaused = false;
    this.#heardAtMs = this.#options.runtime.clock.monotonicMs();
    this.#options.transport.resume?.();
  }

  /** Handles one frame from the transport. A malformed frame ends the link. */
  receive(frame: string): void {
    if (this.#ended) return;
    this.#heardAtMs = this.#options.runtime.clock.monotonicMs();
    let values: unknown;
    try {
      values = JSON.parse(frame);
    } catch {
      this.fail('a frame that is not JSON');
      return;
    }
    if (!Array.isArray(values)) {
      this.fail('a frame that is not a list of messages');
      return;
    }
    const error = this.#options.frameError?.(values, frame.length);
    if (error !== undefined) {
      this.fail(error);
      return;
    }
    for (const value of values) {
      const message = this.#parse(value);
      if (message === undefined) return;
      if (message.type !== 'heartbeat') this.#options.onMessage(message);
      if (this.#ended) return;
    }
  }

  /** Undefined for an invalid message; the link has ended then. */
  #parse(value: unknown): Incoming | undefined {
    try {
      return this.#options.read(value);
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      const type = (value as { type?: unknown } | null)?.type;
      this.fail(
        `a message of type ${JSON.stringify(type)}: ${error.path || 'it'} is wrong: ${error.message}`,
      );
      return undefined;
    }
  }

  /** Ends the link because the other side broke the protocol. */
  fail(error: string): void {
    this.close(CLOSE.PROTOCOL_ERROR, `protocol error: ${error}`);
  }

  /** Sends all queued messages, closes the transport and ends the link. */
  close(code: number, reason: string): void {
    if (this.#ended) return;
    this.flush();
    // A WebSocket's close reason has at most 123 bytes.
    this.#options.transport.close(code, Buffer.from(reason).subarray(0, 120).toString());
    this.down(reason);
  }

  /** Ends the link because its transport has ended. */
  down(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.#lazyFlush?.cancel();
    this.#options.onDown(reason);
  }

  #scheduleHeartbeat(intervalMs: number): void {
    const { clock, timers } = this.#options.runtime;
    const sinceSentMs = clock.monotonicMs() - this.#sentAtMs;
    this.#timers[0] = timers.after(Math.max(intervalMs - sinceSentMs, 1), () => {
      if (clock.monotonicMs() - this.#sentAtMs >= intervalMs) {
        this.send({ type: 'heartbeat' } as Outgoing);
        this.flush();
      }
      this.#scheduleHeartbeat(intervalMs);
    });
  }

  #watchSilence(silenceLimitMs: number, isGrace = false): void {
    const { clock, timers } = this.#options.runtime;
    const leftMs = this.#isPaused ? silenceLimitMs : silenceLimitMs - (clock.monotonicMs() - this.#heardAtMs);
    this.#timers[1] = timers.after(isGrace ? SILENCE_GRACE_MS : Math.max(leftMs, 1), () => {
      const silentForMs = this.#isPaused ? 0 : clock.monotonicMs() - this.#heardAtMs;
      if (silentForMs < silenceLimitMs) return this.#watchSilence(silenceLimitMs);
      if (!isGrace) return this.#watchSilence(silenceLimitMs, true);
      this.#options.transport.terminate();
      this.down(`nothing heard for ${Math.round(silentForMs / 1000)} s`);
    });
  }
}
