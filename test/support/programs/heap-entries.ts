/**
 * Counts what the threads of a process keep, from heap snapshots: the entries of their maps, sets and arrays, named by what
 * holds them (`main: SessionStore.#byToken`), and their objects by class (`main: objects of Session`).
 */
import { type Edge, type HeapSnapshot, takeHeapSnapshot } from './heap-snapshot.js';
import type { Inspector } from './inspector.js';

/** Number of entries by owner. */
export type HeapEntries = ReadonlyMap<string, number>;

export interface Growth {
  readonly owner: string;
  readonly before: number;
  readonly after: number;
}

/** Words of an entry in the table of a collection. */
const ENTRY_WORDS: Readonly<Record<string, number>> = { Map: 3, Set: 2 };
const WORD_BYTES = 8;
/** Room that is counted where entries are not shown: less is left by a list or table that is empty now. */
const COUNTED_ROOM = 64;
/** Holders that a name tells at most. */
const MOST_HOLDERS = 5;
/** Classes whose name says nothing about what they hold. */
const ANONYMOUS = new Set(['', 'Object', 'Array', 'Map', 'Set']);
const NO_FIELD = new Set(['__proto__', 'constructor', 'prototype']);

/** Counts after a garbage collection. */
export async function heapEntries({ threads }: Pick<Inspector, 'threads'>): Promise<HeapEntries> {
  const counts = new Map<string, number>();
  for (const thread of threads) {
    const snapshot = await takeHeapSnapshot(thread);
    const owners = new Owners(snapshot);
    const count = (owner: string, entries: number) => {
      const name = `${thread.name}: ${owner}`;
      if (entries > 0) counts.set(name, (counts.get(name) ?? 0) + entries);
    };
    for (let node = 0; node < snapshot.nodeCount; node++) {
      if (snapshot.typeOf(node) !== 'object') continue;
      const entries = entriesOf(snapshot, node);
      const name = snapshot.nameOf(node);
      if (entries !== undefined) count(owners.nameOf(node), entries);
      else if (!ANONYMOUS.has(name) && !name.includes(' ')) count(`objects of ${name}`, 1);
    }
  }
  return counts;
}

/** Owners that have more entries than before, and more than `slack` of them; the largest growth first. */
export function growthOf(before: HeapEntries, after: HeapEntries, slack: number): Growth[] {
  const grown: Growth[] = [];
  for (const [owner, count] of after) {
    const earlier = before.get(owner) ?? 0;
    if (count > earlier + slack) grown.push({ owner, before: earlier, after: count });
  }
  return grown.sort((a, b) => b.after - b.before - (a.after - a.before));
}

/** Number of entries of a collection; undefined for any other object. */
function entriesOf(snapshot: HeapSnapshot, node: number): number | undefined {
  const name = snapshot.nameOf(node);
  if (name === 'Array') return lengthOf(snapshot, node);
  const words = ENTRY_WORDS[name];
  return words === undefined ? undefined : filledOf(snapshot, node, words);
}

function lengthOf(snapshot: HeapSnapshot, node: number): number {
  const edges = snapshot.edgesFrom(node);
  const shown = edges.filter(({ type }) => type === 'element').length;
  const elements = edges.find(({ name }) => name === 'elements')?.to;
  return shownOrRoom(shown, elements === undefined ? 0 : snapshot.bytesOf(elements) / WORD_BYTES - 2);
}

function filledOf(snapshot: HeapSnapshot, node: number, entryWords: number): number {
  const table = snapshot.edgesFrom(node).find(({ name }) => name === 'table')?.to;
  if (table === undefined) return 0;
  // Five words, a word for each bucket, and room for two entries a bucket. The first two words have no number.
  const buckets = (snapshot.bytesOf(table) / WORD_BYTES - 5) / (1 + 2 * entryWords);
  const filled = new Set<number>();
  for (const { name } of snapshot.edgesFrom(table)) {
    const place = Number(name) - 3 - buckets;
    if (place >= 0) filled.add(Math.floor(place / entryWords));
  }
  return shownOrRoom(filled.size, buckets * 2);
}

/** Numbers are no nodes: of a list or table of them there is the room. */
function shownOrRoom(shown: number, room: number): number {
  return shown > 0 || room <= COUNTED_ROOM ? shown : room;
}

/** Names of collections by their holders. */
class Owners {
  readonly #snapshot: HeapSnapshot;

  constructor(snapshot: HeapSnapshot) {
    this.#snapshot = snapshot;
  }

  /** `SessionStore.#byToken`, `sessions` for a variable, with `[]` for each collection that holds the next. */
  nameOf(node: number, holders = MOST_HOLDERS): string {
    if (holders === 0) return '…';
    let best: { edge: Edge; rank: number } | undefined;
    for (const edge of this.#snapshot.edgesTo(node)) {
      const rank = this.#rankOf(edge);
      if (rank === undefined) continue;
      const isBetter =
        best === undefined || rank < best.rank || (rank === best.rank && edge.name < best.edge.name);
      if (isBetter) best = { edge, rank };
    }
    if (best === undefined) return 'what Node.js keeps';
    const { name, type, from } = best.edge;
    const holder = this.#snapshot.nameOf(from);
    if (type === 'context') return name;
    if (best.rank === 0) return `${holder}.${name}`;
    return type === 'property'
      ? `${this.nameOf(from, holders - 1)}.${name}`
      : `${this.nameOf(from, holders - 1)}[]`;
  }

  /** The least for the holder that says most; undefined for one that says nothing. */
  #rankOf({ type, name, from }: Edge): number | undefined {
    if (NO_FIELD.has(name)) return undefined;
    if (type === 'property') return ANONYMOUS.has(this.#snapshot.nameOf(from)) ? 2 : 0;
    if (type === 'context') return 1;
    if (type === 'element') return 3;
    const isOfTable = name === 'table' || this.#snapshot.typeOf(from) === 'array';
    return type === 'internal' && isOfTable ? 4 : undefined;
  }
}
