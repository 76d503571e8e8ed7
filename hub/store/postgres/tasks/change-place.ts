/**
 * Places in the log of changes, as cursors name them. Changes are told in the order of their transactions, of which one may commit
 * after another with a higher number: a place names those that were under way when it was read (decision 0067).
 */

/** Number of transactions under way that a place may name. Changes of those after it wait until one of them has ended. */
export const MAX_UNDER_WAY = 8;

export interface Place {
  /** All changes of earlier transactions were told, but for those of transactions under way. */
  readonly transaction: number;
  /** Number of changes of this transaction that were told. */
  readonly told: number;
  /** Earlier transactions that had not ended, in their order. */
  readonly underWay: readonly number[];
}

/** Cursor of a place, of at most 180 characters. */
export function cursorAt(history: string, { transaction, told, underWay }: Place): string {
  const distances = underWay.map((each) => `-${transaction - each}`);
  return `${history}.t${transaction}_${told}${distances.join('')}`;
}

/** The place of a cursor, and its history; undefined for a text of another form. */
export function placeOf(cursor: string): { readonly history: string; readonly place: Place } | undefined {
  const [, history = '', transactionText, told, distances = ''] =
    /^(\w{1,20})\.t(\d{1,16})_(\d{1,10})((?:-\d{1,16}){0,8})$/.exec(cursor) ?? [];
  const transaction = Number(transactionText);
  const underWay = distances
    .split('-')
    .slice(1)
    .map((distance) => transaction - Number(distance));
  const place = { transaction, told: Number(told), underWay };
  return cursorAt(history, place) === cursor ? { history, place } : undefined;
}
