import type { Variable } from './draft.js';

/**
 * Variables of a pasted text: a table of two columns, lines such as `speed = 1500`, or JSON. Undefined for a text that is a single
 * value.
 */
export function pastedVariables(text: string): readonly Variable[] | undefined {
  const fromJson = variablesOfJson(text);
  if (fromJson) return fromJson;
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (/^[[{]/.test(text.trim())) return undefined;
  // A single line is a value that may have any separator in it: `0,5` and `1, 2, 3` are no variables.
  if (lines.length === 1 && !/[\t=]/.test(lines[0] ?? '')) return undefined;
  const rows = lines.map(rowOf);
  if (rows.length === 0 || rows.some((row) => row === undefined)) return undefined;
  // Two rows, of which each has as many columns: a spreadsheet with its names in the first row.
  const [names, values] = rows as string[][];
  if (rows.length === 2 && names && values && names.length > 2 && names.length === values.length)
    return names.map((key, at) => ({ key, value: values[at] ?? '' }));
  return (rows as string[][]).map(([key = '', ...rest]) => ({ key, value: rest.join(' ') }));
}

const SEPARATORS = [/\t/, /\s*=\s*/, /\s*;\s*/, /\s*:\s+/, /\s*,\s*/];

/** Columns of a line, by the first separator that is in it. */
function rowOf(line: string): string[] | undefined {
  const separator = SEPARATORS.find((each) => each.test(line));
  if (!separator) return undefined;
  if (separator.source.includes('=')) {
    const at = line.indexOf('=');
    return [unquoted(line.slice(0, at)), unquoted(line.slice(at + 1))];
  }
  return line.split(separator).map(unquoted);
}

function unquoted(text: string): string {
  const trimmed = text.trim();
  return (
    /^(?:"(.*)"|'(.*)')$/
      .exec(trimmed)
      ?.slice(1)
      .find((inner) => inner !== undefined) ?? trimmed
  );
}

function variablesOfJson(text: string): readonly Variable[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return Object.entries(value).map(([key, each]) => ({
      key,
      value: typeof each === 'string' ? each : JSON.stringify(each),
    }));
  } catch {
    return undefined;
  }
}
