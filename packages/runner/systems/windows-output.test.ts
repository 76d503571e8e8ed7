import { describe, expect, it } from 'vitest';
import { codePageDecoder, WindowsOutput } from './windows-output.js';

/** Text of a stream that arrives in pieces of this size. */
function decoded(bytes: Buffer, pieceBytes: number, codePage = 850): string {
  const output = new WindowsOutput(codePage);
  let text = '';
  for (let at = 0; at < bytes.length; at += pieceBytes)
    text += output.write(bytes.subarray(at, at + pieceBytes));
  return text + output.end();
}

const UMLAUTS_850 = Buffer.from([0x84, 0x94, 0x81, 0xe1]);

describe.each([1, 2, 3, 5, 1000])('output in pieces of %i bytes', (pieceBytes) => {
  it.each<[string, Buffer, string]>([
    ['UTF-8', Buffer.from('Größe 20 µm\r\n✓ 𝄞 end'), 'Größe 20 µm\n✓ 𝄞 end'],
    ['UTF-16 with a mark', Buffer.from('\u{feff}Größe\r\n𝄞', 'utf16le'), 'Größe\n𝄞'],
    ['UTF-16 without a mark', Buffer.from('Größe\r\nü', 'utf16le'), 'Größe\nü'],
    ['the code page', Buffer.concat([UMLAUTS_850, Buffer.from('\r\nx')]), '\u00e4\u00f6\u00fc\u00df\nx'],
    [
      'lines of several programs',
      Buffer.concat([Buffer.from('Maß: '), Buffer.from('\r\n'), UMLAUTS_850, Buffer.from('\r\nMaß\n')]),
      'Maß: \n\u00e4\u00f6\u00fc\u00df\nMaß\n',
    ],
    ['progress on one line', Buffer.from('10 %\r20 %\r\r\nend\r'), '10 %\r20 %\r\nend\r'],
    ['a single character', Buffer.from('x'), 'x'],
    ['nothing', Buffer.alloc(0), ''],
  ])('%s', (_, bytes, text) => expect(decoded(bytes, pieceBytes)).toBe(text));
});

it('a line in UTF-8 is passed on before its end', () => {
  const output = new WindowsOutput(850);
  expect(output.write(Buffer.from('step 1 ... '))).toBe('step 1 ... ');
});

it('a long line in a code page is not kept without end', () => {
  const output = new WindowsOutput(850);
  expect(output.write(Buffer.alloc(10_000, 0x84))).toBe('ä'.repeat(10_000));
});

it.each([
  [437, 0xe1, 'ß'],
  [850, 0xb5, 'Á'],
  [852, 0x86, 'ć'],
  [858, 0xd5, '€'],
  [866, 0x80, 'А'],
  [1252, 0xe4, 'ä'],
])('code page %i', (codePage, byte, character) => {
  expect(codePageDecoder(codePage)(Buffer.from([0x61, byte]))).toBe(`a${character}`);
});

it.each([437, 850, 852, 858])('code page %i has a character for each byte, and each once', (codePage) => {
  const all = codePageDecoder(codePage)(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
  expect(new Set(all).size).toBe(256);
});
