/** Statements with named parameters. */
import type { Database, Statement } from './pool.js';
import { statement } from './pool.js';
import { fromStored, toStored } from './stored-text.js';

/** Types of parameters in SQL. */
export type SqlType =
  | 'bigint'
  | 'bigint[]'
  | 'boolean'
  | 'boolean[]'
  | 'bytea[]'
  | 'integer'
  | 'integer[]'
  | 'smallint'
  | 'smallint[]'
  | 'text'
  | 'text[]';

export interface NamedStatement<Parameter extends string = string> extends Statement {
  /** Names of `$1` and so on. */
  readonly parameters: readonly Parameter[];
}

export type Values<Parameter extends string> = Readonly<Record<Parameter, unknown>>;

/** @param text Names its parameters as `:name`, each of which gets its type. */
export function sql<Parameter extends string = never>(
  types: Readonly<Record<Parameter, SqlType>>,
  text: string,
): NamedStatement<Parameter> {
  const parameters = Object.keys(types) as Parameter[];
  const used = new Set<string>();
  const numbered = text.replaceAll(/(?<!:):([a-z]\w*)/gi, (_, parameter: Parameter) => {
    const at = parameters.indexOf(parameter);
    if (at < 0) throw new Error(`a statement has no parameter "${parameter}": ${text}`);
    used.add(parameter);
    return `$${at + 1}::${types[parameter]}`;
  });
  const unused = parameters.filter((parameter) => !used.has(parameter));
  if (unused.length > 0) throw new Error(`a statement does not use ${unused.join(', ')}: ${text}`);
  return { ...statement(numbered), parameters };
}

/** Runs a statement with values by name; rejects with `DatabaseFault`. */
export async function rowsOf<Row extends object, Parameter extends string = never>(
  db: Pick<Database, 'rows'>,
  named: NamedStatement<Parameter>,
  values: Values<Parameter>,
): Promise<Row[]> {
  const { name, text } = named;
  const inOrder = named.parameters.map((parameter) => toStored(values[parameter]));
  const rows = await db.rows<Row>({ name, text }, inOrder);
  return rows.map((row) => fromStored(row) as Row);
}

/** Does the same for a statement that returns at most one row. */
export async function rowOf<Row extends object, Parameter extends string = never>(
  db: Pick<Database, 'rows'>,
  named: NamedStatement<Parameter>,
  values: Values<Parameter>,
): Promise<Row | undefined> {
  return (await rowsOf<Row, Parameter>(db, named, values))[0];
}
