/** The beginning of a file as text. */

const MAX_BYTES = 256 * 1024;

export interface TextBeginning {
  /** Undefined for what is no text. */
  readonly text: string | undefined;
  readonly bytes: number;
  /** Whether the file goes on. */
  readonly isCut: boolean;
}

/** Reads no more of the response than is shown. */
export async function textBeginning(response: Response): Promise<TextBeginning> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isCut = false;
  for (;;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) break;
    chunks.push(chunk.value);
    bytes += chunk.value.length;
    if (bytes > MAX_BYTES) {
      isCut = true;
      await reader?.cancel();
      break;
    }
  }
  const content = new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()).subarray(0, MAX_BYTES);
  return { text: textOf(content), bytes: content.length, isCut };
}

/** Undefined for bytes that are no UTF-8, or have a zero among them. */
function textOf(content: Uint8Array): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    // A character may be cut in two at the end.
    return new TextDecoder('utf-8', { fatal: true }).decode(content, { stream: true });
  } catch {
    return undefined;
  }
}
