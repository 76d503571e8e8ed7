import { randomBytes } from 'node:crypto';
import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DeflatedResponse, SharedBytes } from './shared-bytes.js';

const line = (at: number) => `id: a.${at}\ndata: {"status":"WAITING","number":${at}}\n\n`;
const text = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => line(from + at)).join('');

/** All bytes of a response with these parts. */
function responseOf(parts: readonly SharedBytes[]): Buffer {
  const response = new DeflatedResponse();
  return Buffer.concat([response.begin(), ...parts.map((part) => response.part(part)), response.end()]);
}

describe('a compressed response', () => {
  it('holds its parts, with the right checksum, whatever came before in others', () => {
    const parts = [text(0, 1), text(1, 500), '', text(501, 2), text(503, 5000)].map(
      (each) => new SharedBytes(each),
    );
    expect(inflateSync(responseOf(parts)).toString()).toBe(text(0, 5503));
    const late = parts.slice(3);
    expect(inflateSync(responseOf(late)).toString()).toBe(text(501, 5002));
    expect(inflateSync(responseOf([])).toString()).toBe('');
  });

  it.each([1, 1023, 1024, 65_520, 65_521, 65_522, 200_000])(
    'holds %i bytes that cannot be compressed',
    (length) => {
      const bytes = Buffer.concat([randomBytes(length), Buffer.alloc(length, 0xff)]);
      const parts = [new SharedBytes(bytes, 100), new SharedBytes(bytes.subarray(0, length))];
      expect(inflateSync(responseOf(parts)).equals(Buffer.concat([bytes, bytes.subarray(0, length)]))).toBe(
        true,
      );
    },
  );

  it('is small when many share it, and its parts are made once', () => {
    const part = new SharedBytes(text(0, 1000), 100);
    expect(part.deflated.length).toBeLessThan(part.length / 4);
    expect(part.deflated).toBe(part.deflated);
    expect(new SharedBytes(text(0, 1000), 2).deflated.length).toBeGreaterThan(part.length);
  });
});
