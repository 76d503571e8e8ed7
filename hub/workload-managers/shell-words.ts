/** Words of a POSIX shell. */

/** Quotes a word, so that a shell takes it as it is. */
export function shellWord(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Part of a script that writes the text to standard output: a here-document, which no list of processes shows. The text gets a final line feed
 *  if it has none. */
export function hereDocument(command: string, text: string): string {
  let end = 'END_OF_FILE';
  while (text.includes(end)) end += '_';
  return `${command} <<'${end}'\n${text}${text.endsWith('\n') ? '' : '\n'}${end}\n`;
}
