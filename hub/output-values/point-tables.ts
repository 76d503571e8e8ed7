import { CsvError, parse } from 'csv-parse/sync';
import type { PointTables } from '../core/ports/point-tables.js';

/** Reading of tables of points by csv-parse, in the process of the hub: a request has them. */
export const pointTables: PointTables = {
  readRows: (csv, delimiter) => {
    try {
      const rows: string[][] = parse(csv, {
        bom: true,
        delimiter,
        record_delimiter: ['\r\n', '\n', '\r'],
        relax_column_count: true,
        skip_empty_lines: true,
        trim: true,
      });
      return { rows };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      return { fault: `must be CSV (RFC 4180): ${error.message.slice(0, 200)}` };
    }
  },
};
