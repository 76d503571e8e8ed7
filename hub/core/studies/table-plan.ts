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
  const errors = headerFaults(variables, header);
  if (errors.length > 0) return { errors };
  const columns = variables.map((variable) => ({ variable, at: header.indexOf(variable.name) }));
  const points = rows.map((row, index) => {
    if (row.length !== header.length) {
      const what = `row ${index + 2} has ${row.length} cells, and the header ${header.length}`;
      errors.push({ where: 'plan.csv', what });
      return {};
    }
    const cells = columns.map(({ variable, at }) => {
      const value = valueOfCell(variable, row[at] ?? '', decimal);
      if (typeof value === 'object') {
        errors.push({ where: 'plan.csv', what: `row ${index + 2}, column ${variable.name}: ${value.fault}` });
      }
      return [variable.name, typeof value === 'object' ? 0 : value] as const;
    });
    return Object.fromEntries(cells);
  });
  return errors.length > 0 ? { errors: errors.slice(0, MAX_ERRORS) } : { plan: { kind: 'LIST', points } };
}

function headerFaults(variables: readonly StudyVariable[], header: readonly string[]): ValidationError[] {
  const names = variables.map(({ name }) => name);
  const repeated = header.filter((name, index) => header.indexOf(name) !== index);
  const unknown = header.filter((name) => !names.includes(name));
  const absent = names.filter((name) => !header.includes(name));
  const listed = `the variables are ${names.join(', ')}`;
  return [
    ...repeated.map((name) => `must have the column ${shown(name)} once only`),
    ...unknown.map((name) => `must have no column ${shown(name)}; ${listed}`),
    ...absent.map((name) => `must have a column ${name}; its header is ${shown(header.join(', '))}`),
  ].map((what) => ({ where: 'plan.csv', what }));
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
