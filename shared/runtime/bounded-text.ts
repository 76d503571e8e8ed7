/** The beginning of a text that a program chose, for messages and logs. A slice would keep the whole text in memory: this is a real copy. */
export function boundedText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${Buffer.from(text.slice(0, maxLength - 1), 'utf16le').toString('utf16le')}…`;
}
