/** Reading of tables of points. */

export interface PointTables {
  /** Rows of a CSV text with their cells, the header first, without empty rows; or why it cannot be read, written as "must …". */
  readRows(
    csv: string,
    delimiter: ',' | ';' | '\t',
  ): { readonly rows: readonly (readonly string[])[] } | { readonly fault: string };
}
