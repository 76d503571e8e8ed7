/** A file that can be looked at. */
export interface PreviewedFile {
  /** Path or name; its ending says what it should be. */
  readonly name: string;
  /** Identifies the content in the cache. */
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  fetch(signal?: AbortSignal): Promise<Response>;
}
