import { describe, expect, it } from 'vitest';
import { lineSplitter, ProtocolViolation } from './framing.js';

describe('lineSplitter', () => {
  it('puts together a line that comes in pieces, even when a character is split', () => {
    const splitter = lineSplitter(1000);
    const bytes = Buffer.from('{"text":"Größe 😀"}\n');
    const lines = [...bytes].flatMap((byte) => splitter.push(Buffer.from([byte])));
    expect(lines).toEqual(['{"text":"Größe 😀"}']);
  });

  it('gives every line of one piece, and holds what follows the last', () => {
    const splitter = lineSplitter(1000);
    expect(splitter.push(Buffer.from('one\ntwo\nthr'))).toEqual(['one', 'two']);
    expect(splitter.push(Buffer.from('ee\n'))).toEqual(['three']);
  });

  it('takes \\r\\n as a line end, also when the two come apart, and drops empty lines', () => {
    const splitter = lineSplitter(1000);
    expect(splitter.push(Buffer.from('one\r\n\r\n\ntwo\r'))).toEqual(['one']);
    expect(splitter.push(Buffer.from('\nthree\n'))).toEqual(['two', 'three']);
  });

  it('holds what it was given, also when the piece is overwritten', () => {
    const splitter = lineSplitter(1000);
    const piece = Buffer.from('one\ntwo');
    expect(splitter.push(piece)).toEqual(['one']);
    piece.fill('x');
    expect(splitter.push(Buffer.from('three\n'))).toEqual(['twothree']);
  });

  it('leaves a \\r inside a line alone', () => {
    expect(lineSplitter(1000).push(Buffer.from('a\rb\n'))).toEqual(['a\rb']);
  });

  it('takes a line of exactly the limit, and refuses one that grows beyond it before it ends', () => {
    const splitter = lineSplitter(8);
    expect(splitter.push(Buffer.from('12345678'))).toEqual([]);
    expect(splitter.push(Buffer.from('\n'))).toEqual(['12345678']);
    splitter.push(Buffer.from('1234'));
    expect(() => splitter.push(Buffer.from('56789'))).toThrow(ProtocolViolation);
  });
});
