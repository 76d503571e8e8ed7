/** Values of rules about one content, read by libraries for JSON paths, tables and regular expressions. */

import type { JSONValue } from 'json-p3';
import {
  type MissingValue,
  missing,
  quoted,
  type ReadValue,
  sourceName,
  valueOfText,
} from '../core/studies/values/read-value.js';
import type { CsvReader, PatternReader, ValueRule } from '../core/studies/values/value-rules.js';
import { parseTable, readColumn, type Table } from './csv-columns.js';
import { findNode, parseJson } from './json-paths.js';
import { findText } from './patterns.js';

/** Forms of one content, each made when the first rule asks for it. */
interface Forms {
  json(): { readonly root: JSONValue } | MissingValue;
  table(delimiter: CsvReader['delimiter']): { readonly table: Table } | MissingValue;
  /** Text whose lines end with `\n`. */
  lines(): string;
}

/** Values of rules about one source, in their order; `content` is its whole text in UTF-8. */
export function readValues(rules: readonly ValueRule[], content: Uint8Array): ReadValue[] {
  const [first] = rules;
  if (first === undefined) return [];
  const forms = formsOf(textOf(content), sourceName(first.source));
  return rules.map((rule) => readValue(rule, forms));
}

/** Text without its byte order mark; bytes that are no UTF-8 become U+FFFD. */
function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const text = Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function formsOf(text: string, source: string): Forms {
  const tables = new Map<string, ReturnType<Forms['table']>>();
  let json: ReturnType<Forms['json']> | undefined;
  let lines: string | undefined;
  return {
    json: () => {
      json ??= parseJson(text, source);
      return json;
    },
    table: (delimiter) => {
      const table = tables.get(delimiter) ?? parseTable(text, delimiter, source);
      tables.set(delimiter, table);
      return table;
    },
    lines: () => {
      lines ??= text.replaceAll('\r\n', '\n');
      return lines;
    },
  };
}

function readValue(rule: ValueRule, forms: Forms): ReadValue {
  const { reader } = rule;
  switch (reader.kind) {
    case 'JSON_PATH':
      return valueAtPath(rule, reader.path, forms);
    case 'CSV': {
      const parsed = forms.table(reader.delimiter);
      return 'table' in parsed ? readColumn(rule, reader, parsed.table) : parsed;
    }
    case 'REGULAR_EXPRESSION':
      return valueOfMatch(rule, reader, forms);
  }
}

function valueOfMatch(rule: ValueRule, reader: PatternReader, forms: Forms): ReadValue {
  const source = sourceName(rule.source);
  const found = findText(reader, forms.lines(), source);
  if (typeof found !== 'string') return found;
  return valueOfText(rule.kind, found, `the text that the pattern finds in ${source}`);
}

function valueAtPath({ kind, source }: ValueRule, path: string, forms: Forms): ReadValue {
  const name = sourceName(source);
  const parsed = forms.json();
  if (!('root' in parsed)) return parsed;
  const found = findNode(path, parsed.root, name);
  if (!('node' in found)) return found;
  const { node } = found;
  const place = `${quoted(path)} in ${name}`;
  if (typeof node === 'string') return valueOfText(kind, node, place);
  if (typeof node === 'number') {
    return kind === 'NUMBER' ? { kind, value: node } : { kind, value: String(node) };
  }
  if (typeof node === 'boolean' && kind === 'TEXT') return { kind, value: String(node) };
  return missing(`${place} is ${kindOf(node)}, which is no ${kind.toLowerCase()}`);
}

function kindOf(node: JSONValue): string {
  if (node === null || typeof node === 'boolean') return String(node);
  return Array.isArray(node) ? 'an array' : 'an object';
}
