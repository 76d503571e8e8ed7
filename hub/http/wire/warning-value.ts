/** Value of the header `Warning` (RFC 7234). The text is ASCII without quotes. */
export function warningValue(text: string): string {
  return `299 - "${text}"`;
}
