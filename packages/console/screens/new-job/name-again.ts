/** The name of a task for its job once more: `gear` becomes `gear (2)`, and `gear (2)` becomes `gear (3)`. */
export function nameAgain(name: string): string {
  const [, stem, number] = /^(.*\S) \((\d{1,9})\)$/s.exec(name) ?? [];
  return stem === undefined ? `${name} (2)` : `${stem} (${Number(number) + 1})`;
}
