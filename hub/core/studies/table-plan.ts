/** Plan of a table: a header with the names of the variables, and a row for each point. */
import type { ValidationError } from '../errors.js';
import type { ListPlan } from './list-plan.js';
import type { PointValue, StudyVariable } from './variables.js';

export interface TablePlan {
  readonly kind: 'TABLE';
  readonly csv: string;
  readonly delimiter: ',' | ';' | '\t';
  readonly decimal: '.' | ',';
}

/** Validation errors that are listed. */
const MAX_ERRORS = 20;
const SHOWN_CHARACTERS = 40;

/** The list of the points of a table, or its first validation errors, which name row and column; the header is row 1. */
export function pointsOfRows(
  variables: readonly StudyVariable[],
  [header = [], ...rows]: readonly (readonly string[])[],
  decimal: TablePlan['decimal'],
): { readonly plan: ListPlan } | { readonly errors: readonly ValidationError[] } {
  const faults = headerFaults(variables, header);
  const points: Record<string, PointValue>[] = [];
  const columns = variables.map((variable) => ({ variable, at: header.indexOf(variable.name) }));
  for (const [index, row] of (faults.length === 0 ? rows : []).entries()) {
    const where = `row ${index + 2}`;
    if (row.length === header.length) points.push(pointOfRow(row, columns, { where, decimal, faults }));
    else faults.push(`${where} has ${row.length} cells, and the header ${header.length}`);
    if (faults.length >= MAX_ERRORS) break;
  }
  if (faults.length === 0) return { plan: { kind: 'LIST', points } };
  return { errors: faults.slice(0, MAX_ERRORS).map((what) => ({ where: 'plan.csv', what })) };
}

interface Column {
  readonly variable: StudyVariable;
  readonly at: number;
}

/** Values of a row; adds what is wrong with its cells to the faults. */
function pointOfRow(
  row: readonly string[],
  columns: readonly Column[],
  { where, decimal, faults }: { where: string; decimal: TablePlan['decimal']; faults: string[] },
): Record<string, PointValue> {
  const point: Record<string, PointValue> = {};
  for (const { variable, at } of columns) {
    const value = valueOfCell(variable, row[at] ?? '', decimal);
    if (typeof value === 'object') faults.push(`${where}, column ${variable.name}: ${value.fault}`);
    else point[variable.name] = value;
  }
  return point;
}

function headerFaults(variables: readonly StudyVariable[], header: readonly string[]): string[] {
  const names = variables.map(({ name }) => name);
  const listed = `the variables are ${names.join(', ')}`;
  // A header with many more columns belongs to another kind of table.
  if (header.length > 2 * names.length + MAX_ERRORS)
    return [`must have a column for each variable; it has ${header.length}, and ${listed}`];
  const repeated = header.filter((name, index) => header.indexOf(name) !== index);
  const unknown = header.filter((name) => !names.includes(name));
  const absent = names.filter((name) => !header.includes(name));
  return [
    ...repeated.map((name) => `must have the column ${shown(name)} once only`),
    ...unknown.map((name) => `must have no column ${shown(name)}; ${listed}`),
    ...absent.map((name) => `must have a column ${name}; its header is ${shown(header.join(', '))}`),
  ];
}

function valueOfCell(
  variable: StudyVariable,
  cell: string,
  decimal: TablePlan['decimal'],
): PointValue | { readonly fault: string } {
  if (variable.kind === 'TEXT') return cell;
  const text = decimal === ',' ? cell.replace(',', '.') : cell;
  const hasOther = cell.includes(decimal === ',' ? '.' : ',');
  if (!hasOther && text !== '' && Number.isFinite(Number(text))) return Number(text);
  const hint = hasOther ? `; the decimal sign of this table is "${decimal}"` : '';
  return { fault: `${shown(cell)} is no number${hint}` };
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text);
}
