/** Where a content lies below the folder of the content store: `ab/ab…`, and `ab/ab….enc` when it is encrypted. */
export function contentName({ digest, encrypted }: { digest: string; encrypted: boolean }): string {
  return `${digest.slice(0, 2)}/${digest}${encrypted ? '.enc' : ''}`;
}

/** The digest of a clear content that has this name; undefined for any other name. */
export function clearDigestOfName(name: string): string | undefined {
  return /^([0-9a-f]{2})\/(\1[0-9a-f]{62})$/.exec(name)?.[2];
}
