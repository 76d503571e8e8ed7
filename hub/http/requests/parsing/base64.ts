/** Strict Base64: RFC 4648 section 4 with padding (contract 3.2). */

const NOTHING = Buffer.alloc(0);

/** Decodes a string that arrives in chunks, split anywhere. */
export class Base64Decoder {
  #rest = '';
  #padded = false;

  /** Decodes further characters, given as bytes; undefined as soon as they cannot be Base64. */
  push(characters: Buffer): Buffer | undefined {
    const text = this.#rest + characters.toString('latin1');
    const wholeLength = text.length - (text.length % 4);
    this.#rest = text.slice(wholeLength);
    if (wholeLength === 0) return NOTHING;
    if (this.#padded) return undefined;
    const whole = text.slice(0, wholeLength);
    const padding = whole.endsWith('==') ? 2 : whole.endsWith('=') ? 1 : 0;
    this.#padded = padding > 0;
    // Node's decoder accepts the alphabet of section 5 too, and skips characters of neither: then the result is shorter than its
    // text.
    if (whole.includes('-') || whole.includes('_')) return undefined;
    const content = Buffer.from(whole, 'base64');
    return content.length === (wholeLength / 4) * 3 - padding ? content : undefined;
  }

  /** Whether the string may end here. */
  get isWhole(): boolean {
    return this.#rest === '';
  }
}

/** Decodes a whole string; undefined when it is not Base64. */
export function decodeBase64(text: string): Buffer | undefined {
  const decoder = new Base64Decoder();
  const content = decoder.push(Buffer.from(text));
  return decoder.isWhole ? content : undefined;
}
