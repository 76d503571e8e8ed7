import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, useRef } from 'react';
import type { ValueTable } from './value-table.js';

const ROW_HEIGHT = 26;
const OVERSCAN = 10;
/** Longer fields are shown in part. */
const SHOWN_CHARACTERS = 200;

interface ValueGridProps {
  readonly table: ValueTable;
  readonly label: string;
}

/** Rows of a table, of which only the visible ones are in the page. */
export function ValueGrid({ table, label }: ValueGridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: table.rowCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
  });
  const columns = { '--columns': table.names.length } as CSSProperties;
  return (
    <div className="value-grid" ref={scroller} tabIndex={0} role="group" aria-label={label}>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={table.rowCount + 1}
        aria-colcount={table.names.length + 1}
        className="value-table"
        style={columns}
      >
        <div role="rowgroup" className="value-head">
          <div role="row" aria-rowindex={1} className="value-row">
            <span role="columnheader" className="value-number">
              #
            </span>
            {table.names.map((name, at) => (
              <span key={at} role="columnheader" title={name}>
                {name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="value-space" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              className="value-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              <span role="rowheader" className="value-number">
                {index + 1}
              </span>
              <Cells fields={table.row(index)} count={table.names.length} />
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function Cells({ fields, count }: { readonly fields: readonly string[]; readonly count: number }) {
  return Array.from({ length: count }, (_, at) => (
    <span key={at} role="cell">
      {fields[at]?.slice(0, SHOWN_CHARACTERS)}
    </span>
  ));
}
