import type { ReactNode } from 'react';

/** Heading of a column, and the class of its cells if they have one. That of `actions` is only read out. */
type Column = string | readonly [heading: string, kind: string];

interface DataTableProps {
  readonly columns: readonly Column[];
  /** Class of a table that looks otherwise. */
  readonly className?: string;
  /** Rows. */
  readonly children: ReactNode;
}

/** A table of what the hub has many of. */
export function DataTable({ columns, className = '', children }: DataTableProps) {
  return (
    <table className={`data-table ${className}`}>
      <thead>
        <tr>
          {columns.map((column) => {
            const [heading, kind] = typeof column === 'string' ? [column] : column;
            return (
              <th key={heading} scope="col" className={kind}>
                {kind === 'actions' ? <span className="visually-hidden">{heading}</span> : heading}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
