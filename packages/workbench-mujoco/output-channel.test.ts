import { describe, expect, it } from 'vitest';
import { outputReceiver, outputSender } from './output-channel.js';

describe('the output channel', () => {
  it('cuts long texts into pieces, with characters whole', () => {
    const pieces: string[] = [];
    const send = outputSender(new SharedArrayBuffer(4), (_, text) => pieces.push(text));
    const text = `x${'😀'.repeat(40_000)}`;
    send('stdout', text);
    send('stdout', '');
    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBe(2);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
  });

  it('sends output that arrived meanwhile together, with the streams in order', async () => {
    const sent: string[] = [];
    const takers: (() => void)[] = [];
    const receiver = outputReceiver(new SharedArrayBuffer(4), async (stream, text) => {
      sent.push(`${stream}: ${text}`);
      await new Promise<void>((resolve) => takers.push(resolve));
    });
    for (const text of ['a', 'b', 'c']) receiver.take('stdout', text);
    receiver.take('stderr', 'd');
    receiver.take('stdout', 'e');
    const drained = receiver.drained();
    for (let piece = 0; piece < 4; piece++) {
      takers.shift()?.();
      await new Promise(setImmediate);
    }
    await drained;
    expect(sent).toEqual(['stdout: a', 'stdout: bc', 'stderr: d', 'stdout: e']);
  });

  it('counts the output in transit', async () => {
    const inFlight = new SharedArrayBuffer(4);
    const counter = new Int32Array(inFlight);
    const receiver = outputReceiver(inFlight, () => Promise.resolve());
    const send = outputSender(inFlight, (stream, text) => receiver.take(stream, text));
    send('stdout', 'four');
    expect(counter[0]).toBe(4);
    await receiver.drained();
    expect(counter[0]).toBe(0);
  });

  it('rejects with the error of sending', async () => {
    const receiver = outputReceiver(new SharedArrayBuffer(4), () => Promise.reject(new Error('EPIPE')));
    receiver.take('stdout', 'a');
    await expect(receiver.drained()).rejects.toThrow('EPIPE');
  });
});
