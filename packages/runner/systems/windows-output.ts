/** Output of scripts on Windows, where each program has its choice: UTF-8, UTF-16, or the code page of consoles (OEM). */
import { StringDecoder } from 'node:string_decoder';
import type { OutputDecoder } from './host-system.js';

// cspell:disable
/** The bytes from 128 in code pages that Node.js does not know. */
const CHARACTERS: Readonly<Record<number, string>> = {
  437: 'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}',
  850: 'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}',
  852: 'ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}',
};
// cspell:enable
/** Place of the euro sign, by which 858 differs from 850. */
const EURO_AT = 0xd5 - 128;

/** Code pages by the names of the Encoding Standard. */
const ENCODINGS: Readonly<Record<number, string>> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
};

const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** Bytes of an unfinished line in a code page that are kept until it ends. */
const MOST_KEPT_BYTES = 4096;

/** Decoder for the text of a code page; one that is unknown is taken for UTF-8. */
export function codePageDecoder(codePage: number): (bytes: Buffer) => string {
  const characters = codePage === 858 ? withEuro(CHARACTERS[850] ?? '') : CHARACTERS[codePage];
  if (characters !== undefined) {
    const table = [...characters];
    return (bytes) =>
      Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : (table[byte - 128] ?? ''))).join(
        '',
      );
  }
  const isAnsi = codePage >= 1250 && codePage <= 1258;
  const decoder = new TextDecoder(isAnsi ? `windows-${codePage}` : (ENCODINGS[codePage] ?? 'utf-8'));
  return (bytes) => decoder.decode(bytes);
}

function withEuro(characters: string): string {
  const list = [...characters];
  list[EURO_AT] = '€';
  return list.join('');
}

/**
 * Decodes a stream: UTF-16 when it begins so; otherwise each line is UTF-8 if it can be, or text of the code page. Ends of lines become those
 * of Linux, as logs have them.
 */
export class WindowsOutput implements OutputDecoder {
  readonly #decodePage: (bytes: Buffer) => string;
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true });
  #pending = Buffer.alloc(0);
  /** Undefined: too few bytes are known. */
  #utf16: StringDecoder | null | undefined;
  #hasReturn = false;

  constructor(codePage: number) {
    this.#decodePage = codePageDecoder(codePage);
  }

  write(bytes: Buffer): string {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    if (this.#utf16 === undefined && this.#pending.length >= 2)
      this.#utf16 = isUtf16(this.#pending) ? new StringDecoder('utf16le') : null;
    if (this.#utf16 === undefined) return '';
    return this.#withLines(
      this.#utf16 ? this.#utf16.write(this.#take(this.#pending.length)) : this.#decodeLines(),
    );
  }

  end(): string {
    const rest = this.#take(this.#pending.length);
    const text = this.#utf16 ? this.#utf16.end() : this.#decode(rest);
    const last = this.#withLines(text);
    return this.#hasReturn ? `${last}\r` : last;
  }

  /** Whole lines, and of the last one what is certain. */
  #decodeLines(): string {
    const whole = this.#pending.lastIndexOf(NEWLINE) + 1;
    const lines = this.#decode(this.#take(whole));
    const begun = this.#pending.subarray(0, this.#pending.length - incompleteBytes(this.#pending));
    const text =
      this.#asUtf8(begun) ?? (begun.length > MOST_KEPT_BYTES ? this.#decodePage(begun) : undefined);
    if (text === undefined) return lines;
    this.#take(begun.length);
    return lines + text;
  }

  #take(count: number): Buffer {
    const taken = this.#pending.subarray(0, count);
    this.#pending = this.#pending.subarray(count);
    return taken;
  }

  #decode(bytes: Buffer): string {
    const text = this.#asUtf8(bytes);
    if (text !== undefined) return text;
    let decoded = '';
    for (let from = 0; from < bytes.length; ) {
      const newline = bytes.indexOf(NEWLINE, from);
      const line = bytes.subarray(from, newline < 0 ? bytes.length : newline + 1);
      decoded += this.#asUtf8(line) ?? this.#decodePage(line);
      from += line.length;
    }
    return decoded;
  }

  #asUtf8(bytes: Buffer): string | undefined {
    try {
      return this.#utf8.decode(bytes);
    } catch {
      return undefined;
    }
  }

  #withLines(text: string): string {
    const all = this.#hasReturn ? `\r${text}` : text;
    this.#hasReturn = all.charCodeAt(all.length - 1) === RETURN;
    return (this.#hasReturn ? all.slice(0, -1) : all).replaceAll('\r\n', '\n').replace(/^\u{feff}/u, '');
  }
}

/** A mark of the byte order, or a first character below 256. */
function isUtf16(bytes: Buffer): boolean {
  const [first, second] = bytes;
  return (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
}

/** Bytes at the end that begin a character of UTF-8. */
function incompleteBytes(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
