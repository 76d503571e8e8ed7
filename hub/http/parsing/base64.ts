/** Base64 of RFC 4648 section 4 with padding; nothing else is taken (contract 3.2). */

const NOTHING = Buffer.alloc(0);

/** Decodes a text that comes in pieces, cut anywhere. */
export class Base64Decoder {
  #rest = '';
  #padded = false;

  /** Gives what these characters, as bytes, add to the content; undefined as soon as they cannot be Base64. */
  push(characters: Buffer): Buffer | undefined {
    const text = this.#rest + characters.toString('latin1');
    const wholeLength = text.length - (text.length % 4);
    this.#rest = text.slice(wholeLength);
    if (wholeLength === 0) return NOTHING;
    if (this.#padded) return undefined;
    const whole = text.slice(0, wholeLength);
    const padding = whole.endsWith('==') ? 2 : whole.endsWith('=') ? 1 : 0;
    this.#padded = padding > 0;
    // Node's decoder takes the alphabet of section 5 too, and passes over what is in neither: then the content is
    // shorter than its text says.
    if (whole.includes('-') || whole.includes('_')) return undefined;
    const content = Buffer.from(whole, 'base64');
    return content.length === (wholeLength / 4) * 3 - padding ? content : undefined;
  }

  /** Whether the text may end here. */
  get isWhole(): boolean {
    return this.#rest === '';
  }
}

/** Decodes a whole text; undefined for what is not Base64. */
export function decodeBase64(text: string): Buffer | undefined {
  const decoder = new Base64Decoder();
  const content = decoder.push(Buffer.from(text));
  return decoder.isWhole ? content : undefined;
}
