/** Forms with files (multipart/form-data), byte by byte: `FormData` cannot make a bad one. */

const BOUNDARY = 'boundary-of-the-tests';

export interface FormPart {
  /** The headers of the part, without line ends. */
  readonly head: string | Buffer;
  readonly content: string | Buffer;
}

/** A form as `Api.call` and `fetch` send it. */
export interface Form {
  readonly raw: Buffer;
  readonly headers: { readonly 'content-type': string };
}

export function formOf(parts: readonly FormPart[]): Form {
  const pieces = parts.flatMap(({ head, content }) => [
    Buffer.from(`--${BOUNDARY}\r\n`),
    Buffer.from(head),
    Buffer.from('\r\n\r\n'),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return {
    raw: Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  };
}

/** The part `file`; `disposition` follows the name of the part. */
export function filePart(disposition: string | Buffer, content: string | Buffer): FormPart {
  const head = [Buffer.from('Content-Disposition: form-data; name="file"'), Buffer.from(disposition)];
  return { head: Buffer.concat(head), content };
}

export function formWithFile(name: string, content: string | Buffer): Form {
  return formOf([filePart(`; filename="${name}"`, content)]);
}
