/**
 * The link between hub and agent over any transport; there is no socket in this file. It gathers the messages of one
 * turn of the event loop into one frame (a JSON array), validates what comes in, sends heartbeats when it has sent
 * nothing else, and takes the link for dead after a silence.
 */
import type { Runtime, Timer } from '../runtime/runtime.js';
import { ValidationError } from '../validation-error.js';
import { MAX_FRAME_BYTES } from './messages.js';

/** What carries the frames. */
export interface Transport {
  send(frame: string): void;
  /** Says good-bye; the transport reports its end through {@link Link.down}. */
  close(code: number, reason: string): void;
  /** Ends it at once, without waiting for the other side. */
  terminate(): void;
  /** How many bytes were sent and have not left this machine: a sender of what may be left out looks here first. */
  bufferedBytes(): number;
}

/** WebSocket close codes that this protocol uses. */
export const CLOSE = { NORMAL: 1000, GOING_AWAY: 1001, PROTOCOL_ERROR: 1002, REFUSED: 4000 } as const;

export interface LinkOptions<Incoming> {
  readonly transport: Transport;
  readonly runtime: Runtime;
  /** Validates a message; throws {@link ValidationError}. */
  readonly read: (message: unknown) => Incoming;
  /** Asked of each frame before its messages are looked at: a fault ends the link. All are taken when left out. */
  readonly faultOfFrame?: (messages: readonly unknown[], length: number) => string | undefined;
  readonly onMessage: (message: Incoming) => void;
  /** Called once, when the link has ended for whatever reason. */
  readonly onDown: (reason: string) => void;
}

/** A message of about half a frame starts a new frame, so that frames stay well under the receiver's limit. */
const FRAME_TARGET_LENGTH = MAX_FRAME_BYTES / 8;

/** How long a message that has time waits at most for another one that leaves anyway. */
const IN_TIME_MS = 20;

/** After a silence, how long to look once more: a process that was itself held up has unread input waiting. */
const SECOND_LOOK_MS = 1000;

export class Link<Incoming extends { type: string }, Outgoing extends { type: string }> {
  readonly #options: LinkOptions<Incoming>;
  #outbox: string[] = [];
  #flushing = false;
  #inTime: Timer | undefined;
  #ended = false;
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

  /** Begins heartbeats and the watch for silence. */
  watch(heartbeatIntervalMs: number, silenceLimitMs: number): void {
    this.#heartbeatLater(heartbeatIntervalMs);
    this.#listenFor(silenceLimitMs);
  }

  /** Queues a message; it leaves at the end of this turn of the event loop. Dropped when the link has ended. */
  send(message: Outgoing): void {
    if (this.#ended) return;
    this.#outbox.push(JSON.stringify(message));
    if (this.#flushing) return;
    this.#flushing = true;
    this.#options.runtime.timers.soon(() => this.flush());
  }

  /** Queues a message that nobody waits for: it leaves with the next one, or after a moment. */
  sendInTime(message: Outgoing): void {
    if (this.#ended) return;
    this.#outbox.push(JSON.stringify(message));
    if (this.#flushing) return;
    this.#inTime ??= this.#options.runtime.timers.after(IN_TIME_MS, () => this.flush());
  }

  /** Sends what is queued now. */
  flush(): void {
    this.#flushing = false;
    this.#inTime?.cancel();
    this.#inTime = undefined;
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

  /** Takes one frame from the transport. A frame that is none ends the link: the other side speaks something else. */
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
    const fault = this.#options.faultOfFrame?.(values, frame.length);
    if (fault !== undefined) {
      this.fail(fault);
      return;
    }
    for (const value of values) {
      const message = this.#read(value);
      if (message === undefined) return;
      if (message.type !== 'heartbeat') this.#options.onMessage(message);
      if (this.#ended) return;
    }
  }

  /** Undefined for what is no message; the link has ended then. */
  #read(value: unknown): Incoming | undefined {
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
  fail(fault: string): void {
    this.close(CLOSE.PROTOCOL_ERROR, `protocol error: ${fault}`);
  }

  /** Sends what is queued, says good-bye and ends the link. */
  close(code: number, reason: string): void {
    if (this.#ended) return;
    this.flush();
    // A WebSocket's close reason has at most 123 bytes.
    this.#options.transport.close(code, Buffer.from(reason).subarray(0, 120).toString());
    this.down(reason);
  }

  /** The transport has ended, or its owner gives it up. */
  down(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.#inTime?.cancel();
    this.#options.onDown(reason);
  }

  #heartbeatLater(intervalMs: number): void {
    const { clock, timers } = this.#options.runtime;
    const sinceSentMs = clock.monotonicMs() - this.#sentAtMs;
    this.#timers[0] = timers.after(Math.max(intervalMs - sinceSentMs, 1), () => {
      if (clock.monotonicMs() - this.#sentAtMs >= intervalMs) {
        this.send({ type: 'heartbeat' } as Outgoing);
        this.flush();
      }
      this.#heartbeatLater(intervalMs);
    });
  }

  #listenFor(silenceLimitMs: number, secondLook = false): void {
    const { clock, timers } = this.#options.runtime;
    const leftMs = silenceLimitMs - (clock.monotonicMs() - this.#heardAtMs);
    this.#timers[1] = timers.after(secondLook ? SECOND_LOOK_MS : Math.max(leftMs, 1), () => {
      const silentForMs = clock.monotonicMs() - this.#heardAtMs;
      if (silentForMs < silenceLimitMs) return this.#listenFor(silenceLimitMs);
      if (!secondLook) return this.#listenFor(silenceLimitMs, true);
      this.#options.transport.terminate();
      this.down(`nothing heard for ${Math.round(silentForMs / 1000)} s`);
    });
  }
}
