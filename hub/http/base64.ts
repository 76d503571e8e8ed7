const ALPHABET = /^[A-Za-z0-9+/]*={0,2}$/;

/** Decodes Base64 of RFC 4648 section 4 with padding; undefined for anything else. */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0 || !ALPHABET.test(text)) return undefined;
  return Buffer.from(text, 'base64');
}
