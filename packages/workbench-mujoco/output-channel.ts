/**
 * Channel for script output from the simulator's thread to the protocol. A script is synchronous and may print in an
 * endless loop: so its thread sleeps while more than MAX_IN_FLIGHT is on its way.
 */
import type { OutputStream } from '@workbench-hub/shared/instance-protocol/messages';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';

/** Limits in UTF-16 units, like every length here. */
const MAX_IN_FLIGHT = 1024 * 1024;
const MAX_PIECE = 64 * 1024;

/** Sends output of a job. */
export type Send = (stream: OutputStream, text: string) => void;

/** End of the channel in the simulator's thread. */
export function outputSender(inFlight: SharedArrayBuffer, post: Send): Send {
  const counter = new Int32Array(inFlight);
  return (stream, text) => {
    for (const piece of pieces(text)) {
      for (let held = Atomics.load(counter, 0); held > MAX_IN_FLIGHT; held = Atomics.load(counter, 0)) {
        Atomics.wait(counter, 0, held);
      }
      Atomics.add(counter, 0, piece.length);
      post(stream, piece);
    }
  };
}

export interface OutputReceiver {
  take(stream: OutputStream, text: string): void;
  /** Resolves when all output was sent; rejects with the error of sending. */
  drained(): Promise<void>;
}

/** End of the channel in the protocol's thread. Output that arrives during a send is sent together. */
export function outputReceiver(inFlight: SharedArrayBuffer, send: JobContext['output']): OutputReceiver {
  const counter = new Int32Array(inFlight);
  const queue: { stream: OutputStream; text: string }[] = [];
  let sending: Promise<void> = Promise.resolve();
  let isSending = false;

  const sendAll = async (): Promise<void> => {
    for (let first = queue.shift(); first; first = queue.shift()) {
      let { text } = first;
      while (queue[0]?.stream === first.stream && text.length + queue[0].text.length <= MAX_PIECE) {
        text += queue.shift()?.text ?? '';
      }
      await send(first.stream, text);
      Atomics.sub(counter, 0, text.length);
      Atomics.notify(counter, 0);
    }
  };

  return {
    take(stream, text) {
      queue.push({ stream, text });
      if (isSending) return;
      isSending = true;
      sending = sendAll().finally(() => {
        isSending = false;
      });
      // Awaited in drained().
      sending.catch(() => undefined);
    },
    drained: () => sending,
  };
}

/** Splits a text without splitting a character. */
function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + MAX_PIECE, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end--;
    yield text.slice(start, end);
    start = end;
  }
}
