import { describe, expect, it } from 'vitest';
import { Base64Decoder, decodeBase64 } from './base64.js';

/** The rule of RFC 4648 section 4, without regard to speed. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && !/^=|===/.test(text);
}

/** All strings of up to five of these characters. */
function* texts(alphabet: string, maxLength: number, start = ''): Generator<string> {
  yield start;
  if (start.length === maxLength) return;
  for (const character of alphabet) yield* texts(alphabet, maxLength, start + character);
}

describe('Base64', () => {
  it('is accepted exactly as the RFC defines it', () => {
    for (const text of texts('Az/=-Ł', 5)) {
      expect([text, decodeBase64(text) !== undefined]).toEqual([text, isBase64(text)]);
    }
  });

  it.each(['A_==', 'AAA\n', ' AAA', 'AAAA\0\0\0\0', 'AA==AA==', 'AAA=AAAA', 'AAAA===='])(
    'is not %j',
    (text) => {
      expect(decodeBase64(text)).toBeUndefined();
    },
  );

  it('in chunks decodes to the same, wherever they are split', () => {
    for (let length = 0; length < 40; length++) {
      const content = Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 97 + length) % 256));
      const text = Buffer.from(content.toString('base64'));
      for (let size = 1; size <= 9; size++) {
        const decoder = new Base64Decoder();
        const pieces: (Buffer | undefined)[] = [];
        for (let at = 0; at < text.length; at += size)
          pieces.push(decoder.push(text.subarray(at, at + size)));
        expect(Buffer.concat(pieces as Buffer[])).toEqual(content);
        expect(decoder.isWhole).toBe(true);
      }
    }
  });
});
