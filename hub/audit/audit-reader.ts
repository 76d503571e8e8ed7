/** Reader of the audit log of this hub, newest first: the series, each in its own order, are merged by time. */
import { invalidInput } from '../core/errors.js';
import type { AuditEntry, AuditPart, AuditQuery, AuditSource, FoundEntry } from '../core/ports/audit.js';
import { AUDIT_SERIES } from './audit-folder.js';
import { endOf, type Passed, type Position, readBackwards } from './series-reader.js';

export function auditSource(folder: string): AuditSource {
  return {
    async read(query, client): Promise<AuditPart> {
      const from =
        query.before === undefined
          ? await Promise.all(AUDIT_SERIES.map((series) => endOf(folder, series)))
          : positionsOf(query.before);
      const start = cursorOf(from);
      const found: FoundEntry[] = [];
      // One more than requested tells whether there is a next page.
      for await (const { entry, positions } of merged(folder, from, query, client)) {
        if (found.length === query.limit) return { start, found, hasMore: true };
        found.push({ entry, next: cursorOf(positions) });
      }
      return { start, found, hasMore: false };
    },
  };
}

interface Found {
  readonly entry: AuditEntry;
  /** Continuation of each series. */
  readonly positions: readonly Position[];
}

/** Matching entries of all series. */
async function* merged(
  folder: string,
  from: readonly Position[],
  query: AuditQuery,
  client: { readonly aborted: boolean },
): AsyncGenerator<Found> {
  const positions = [...from];
  const readers = AUDIT_SERIES.map((series, index) =>
    readBackwards(folder, series, from[index] ?? NOWHERE, query, client),
  );
  try {
    const heads = await Promise.all(readers.map((reader) => next(reader)));
    for (let index = newestOf(heads); index !== -1; index = newestOf(heads)) {
      const { position, entry } = heads[index] as Passed;
      positions[index] = position;
      if (entry) yield { entry, positions: [...positions] };
      heads[index] = await next(readers[index] as AsyncGenerator<Passed>);
    }
  } finally {
    for (const reader of readers) await reader.return(undefined);
  }
}

const NOWHERE: Position = { number: 0, offset: 0 };

async function next(reader: AsyncGenerator<Passed>): Promise<Passed | undefined> {
  const { value, done } = await reader.next();
  return done ? undefined : value;
}

/** -1 at the end of all series. */
function newestOf(heads: readonly (Passed | undefined)[]): number {
  let newest = -1;
  for (const [index, head] of heads.entries()) {
    if (head && head.atMs > (heads[newest]?.atMs ?? Number.NEGATIVE_INFINITY)) newest = index;
  }
  return newest;
}

function cursorOf(positions: readonly Position[]): string {
  return positions.map(({ number, offset }) => `${number}.${offset}`).join('-');
}

function positionsOf(cursor: string): Position[] {
  const positions = cursor.split('-').flatMap((part) => {
    const [whole, number, offset] = /^(\d{1,15})\.(\d{1,15})$/.exec(part) ?? [];
    return whole === undefined ? [] : [{ number: Number(number), offset: Number(offset) }];
  });
  if (positions.length !== AUDIT_SERIES.length || cursorOf(positions).length !== cursor.length) {
    throw invalidInput([{ where: 'before', what: 'must be the "next" of an earlier answer' }]);
  }
  return positions;
}
