/** A heap snapshot of V8 as a graph: nodes by number, edges by what holds what. */
import type { InspectedThread } from './inspector.js';

/** The form of snapshots: nodes and edges are flat lists of fields. */
interface Taken {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[]];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

export interface Edge {
  readonly type: string;
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** Takes a snapshot after a garbage collection. */
export async function takeHeapSnapshot(thread: InspectedThread): Promise<HeapSnapshot> {
  // Without it, the process counts the lines of the whole source for each function.
  await thread.call('Debugger.enable');
  const pieces: string[] = [];
  await thread.call('HeapProfiler.takeHeapSnapshot', { reportProgress: false }, ({ method, params }) => {
    if (method === 'HeapProfiler.addHeapSnapshotChunk') pieces.push(String(params['chunk']));
  });
  await thread.call('Debugger.disable');
  return new HeapSnapshot(JSON.parse(pieces.join('')) as Taken);
}

export class HeapSnapshot {
  readonly nodeCount: number;
  readonly #taken: Taken;
  readonly #nodeWords: number;
  readonly #edgeWords: number;
  readonly #nodeTypes: readonly string[];
  readonly #edgeTypes: readonly string[];
  /** First edge of each node, and one after the last. */
  readonly #firstEdge: Uint32Array;
  /** Node that each edge comes from. */
  readonly #sources: Uint32Array;
  /** Edges by the node that they lead to, and the first of each node. */
  readonly #edgesTo: Uint32Array;
  readonly #firstEdgeTo: Uint32Array;

  constructor(taken: Taken) {
    this.#taken = taken;
    const { meta } = taken.snapshot;
    this.#nodeWords = meta.node_fields.length;
    this.#edgeWords = meta.edge_fields.length;
    [this.#nodeTypes] = meta.node_types;
    [this.#edgeTypes] = meta.edge_types;
    this.nodeCount = taken.nodes.length / this.#nodeWords;
    const edgeCount = taken.edges.length / this.#edgeWords;
    this.#firstEdge = new Uint32Array(this.nodeCount + 1);
    this.#sources = new Uint32Array(edgeCount);
    let edge = 0;
    for (let node = 0; node < this.nodeCount; node++) {
      const end = edge + this.#word('nodes', node, this.#nodeWords, 4);
      this.#sources.fill(node, edge, end);
      edge = end;
      this.#firstEdge[node + 1] = end;
    }
    this.#firstEdgeTo = new Uint32Array(this.nodeCount + 1);
    for (edge = 0; edge < edgeCount; edge++) add(this.#firstEdgeTo, this.#targetOf(edge) + 1, 1);
    for (let node = 0; node < this.nodeCount; node++)
      add(this.#firstEdgeTo, node + 1, this.#firstEdgeTo[node] ?? 0);
    this.#edgesTo = new Uint32Array(edgeCount);
    const next = this.#firstEdgeTo.slice();
    for (edge = 0; edge < edgeCount; edge++) {
      const target = this.#targetOf(edge);
      this.#edgesTo[next[target] ?? 0] = edge;
      add(next, target, 1);
    }
  }

  typeOf(node: number): string {
    return this.#nodeTypes[this.#word('nodes', node, this.#nodeWords, 0)] ?? '';
  }

  /** Class of an object. */
  nameOf(node: number): string {
    return this.#taken.strings[this.#word('nodes', node, this.#nodeWords, 1)] ?? '';
  }

  bytesOf(node: number): number {
    return this.#word('nodes', node, this.#nodeWords, 3);
  }

  /** Edges from a node to what it holds. */
  edgesFrom(node: number): Edge[] {
    const edges: Edge[] = [];
    const end = this.#firstEdge[node + 1] ?? 0;
    for (let edge = this.#firstEdge[node] ?? 0; edge < end; edge++) edges.push(this.#edge(edge));
    return edges;
  }

  /** Edges to a node from its holders, without weak ones. */
  edgesTo(node: number): Edge[] {
    const edges: Edge[] = [];
    const end = this.#firstEdgeTo[node + 1] ?? 0;
    for (let at = this.#firstEdgeTo[node] ?? 0; at < end; at++)
      edges.push(this.#edge(this.#edgesTo[at] ?? 0));
    return edges.filter(({ type }) => type !== 'weak');
  }

  #edge(edge: number): Edge {
    const type = this.#edgeTypes[this.#word('edges', edge, this.#edgeWords, 0)] ?? '';
    const name = this.#word('edges', edge, this.#edgeWords, 1);
    const isNumbered = type === 'element' || type === 'hidden';
    return {
      type,
      name: isNumbered ? String(name) : (this.#taken.strings[name] ?? ''),
      from: this.#sources[edge] ?? 0,
      to: this.#targetOf(edge),
    };
  }

  #targetOf(edge: number): number {
    return this.#word('edges', edge, this.#edgeWords, 2) / this.#nodeWords;
  }

  #word(list: 'nodes' | 'edges', at: number, words: number, field: number): number {
    return this.#taken[list][at * words + field] ?? 0;
  }
}

function add(list: Uint32Array, place: number, by: number): void {
  list[place] = (list[place] ?? 0) + by;
}
